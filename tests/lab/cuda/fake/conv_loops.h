#pragma once
#include <array>
#include <cstdint>
#include <vector>

/// Convolutions as plain loops, for the faked cuDNN. Written from the definition and apart from the
/// CPU backend, with which they are compared.
namespace fakecuda {

/// x (n,h,w,c), w (k,r,s,c/groups), y (n,p,q,k), innermost last, densely.
struct ConvSizes {
  std::int64_t n, h, w, c, k, r, s, p, q, groups;
  std::array<std::int64_t, 2> pad, stride, dilation;  ///< of rows and of columns
};

[[nodiscard]] std::vector<float> conv_forward(const ConvSizes& sizes,
                                              const std::vector<float>& x,
                                              const std::vector<float>& w);
[[nodiscard]] std::vector<float> conv_backward_data(const ConvSizes& sizes,
                                                    const std::vector<float>& dy,
                                                    const std::vector<float>& w);
[[nodiscard]] std::vector<float> conv_backward_weight(const ConvSizes& sizes,
                                                      const std::vector<float>& x,
                                                      const std::vector<float>& dy);

}  // namespace fakecuda
