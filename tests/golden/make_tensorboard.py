#!/usr/bin/env python3
"""Writes tensorboard_values.h: records of events as TensorBoard's own writer makes them, and histograms of PyTorch's.

    make_tensorboard.py >tests/golden/tensorboard_values.h

Needs tensorboard, PyTorch and numpy; the versions stand in the file."""
import io

import numpy
import tensorboard
import torch
from tensorboard.compat.proto import event_pb2, histogram_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.summary.writer.record_writer import RecordWriter
from torch.utils.tensorboard.summary import make_histogram
from torch.utils.tensorboard.writer import SummaryWriter


def text_value(tag, text):
    metadata = summary_pb2.SummaryMetadata(plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text"),
                                           data_class=summary_pb2.DATA_CLASS_TENSOR)
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[text.encode()])
    return summary_pb2.Summary.Value(tag=tag, metadata=metadata, tensor=tensor)


Value = summary_pb2.Summary.Value
EVENTS = [
    (12, 1700000000.5, [Value(tag="train/loss", simple_value=0.75), Value(tag="train/bad", simple_value=float("nan"))]),
    (13, 1700000001.25, [Value(tag="w", histo=histogram_pb2.HistogramProto(
        min=-2, max=1, num=3, sum=-0.5, sum_squares=6, bucket_limit=[-1.5, 0.5, 1.25], bucket=[1, 0, 2]))]),
    (1 << 40, 1700000002, [Value(tag="images/a", image=summary_pb2.Summary.Image(
        height=2, width=3, colorspace=3, encoded_image_string=b"\x89PNG\x00")), text_value("config", "    seed = 1\n")]),
]


class Open(io.BytesIO):
    def close(self):
        pass


def cpp_string(data):
    """In octal: a hexadecimal escape has no end."""
    lines = [data[i:i + 20] for i in range(0, len(data), 20)]
    return "\n      ".join('"' + "".join(f"\\{byte:03o}" for byte in line) + '"' for line in lines)


def number(value):
    return repr(float(value))


def main():
    out = Open()
    writer = RecordWriter(out)
    for step, wall_time, values in EVENTS:
        writer.write(event_pb2.Event(wall_time=wall_time, step=step,
                                     summary=summary_pb2.Summary(value=values)).SerializeToString())
    writer.flush()
    print(f"// Written by make_tensorboard.py: tensorboard {tensorboard.__version__}, PyTorch {torch.__version__}, numpy {numpy.__version__}.")
    print("#pragma once\n#include <string>\n#include <vector>\n\nnamespace golden {\n")
    print(f"inline std::string event_records() {{\n  static constexpr char kBytes[] =\n      {cpp_string(out.getvalue())};")
    print("  return {kBytes, sizeof kBytes - 1};\n}\n")
    print("struct Histogram {\n  std::vector<float> values;\n  double min, max, sum, sum_squares;\n  std::vector<double> limits, counts;\n};\n")
    print("inline std::vector<Histogram> histograms() {\n  return {")
    random = numpy.random.default_rng(1)
    limits = SummaryWriter(log_dir="/tmp/make_tensorboard").default_bins
    for values in (random.normal(0, 0.05, 60), numpy.array([0.0, 1e-12, -1e-12, 5e-13, 3.0]), numpy.array([0.25]),
                   random.normal(0, 1, 40) * 10.0 ** random.integers(-9, 9, 40)):
        values = values.astype(numpy.float32)
        histo = make_histogram(values.astype(numpy.float64), limits)
        buckets = list(zip(histo.bucket_limit, histo.bucket))
        # Theirs begins with an empty bucket. Of empty neighbours the last is kept, as TensorFlow does.
        kept = [(limit, count) for (limit, count), (_, after) in zip(buckets, buckets[1:] + [(0, 1)]) if count or after]
        kept = kept[1 if kept[0][1] == 0 else 0:]
        print("      {{" + ", ".join(number(v) + "F" for v in values) + "},")
        print("       " + ", ".join(number(v) for v in (histo.min, histo.max, histo.sum, histo.sum_squares)) + ",")
        print("       {" + ", ".join(number(v) for v, _ in kept) + "},")
        print("       {" + ", ".join(number(v) for _, v in kept) + "}},")
    print("  };\n}\n\n}  // namespace golden")


main()
