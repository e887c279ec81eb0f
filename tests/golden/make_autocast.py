#!/usr/bin/env python3
"""Writes autocast_lists.h: what torch.autocast does with the inputs of PyTorch's operations on CUDA, from the lists that
PyTorch tests itself by.

    python3 make_autocast.py >autocast_lists.h     with PyTorch 2 and expecttest
"""
import torch
from torch.testing._internal.autocast_test_lists import AutocastTestLists

lists = AutocastTestLists(torch.device("cpu"))
classes = {
    "half": ["torch_fp16", "nn_fp16", "linalg_fp16", "methods_fp16"],
    "full": ["torch_fp32", "nn_fp32", "methods_fp32"],
    # Promoted by autocast, or by PyTorch's own type promotion: to the widest of the inputs in either case.
    "widest": ["torch_need_autocast_promote", "torch_expect_builtin_promote", "methods_expect_builtin_promote"],
}
rules = {}
for cast_class, names in classes.items():
    for name in names:
        for entry in getattr(lists, name):
            rules.setdefault(entry[0], cast_class)

print("// Made by make_autocast.py with PyTorch " + torch.__version__.split("+")[0] + ".")
print("#pragma once")
print("#include <array>")
print("#include <string_view>")
print()
print("namespace learn::golden {")
print()
print("struct TorchCastRule {")
print("  std::string_view op;")
print("  std::string_view cast_class;")
print("};")
print()
print("inline constexpr std::array kTorchCastRules{")
for op in sorted(rules):
    print(f'    TorchCastRule{{"{op}", "{rules[op]}"}},')
print("};")
print()
print("}  // namespace learn::golden")
