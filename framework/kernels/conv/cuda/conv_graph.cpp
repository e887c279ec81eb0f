#include "framework/kernels/conv/cuda/conv_graph.h"

#include <array>
#include <utility>

namespace learn::cuda::cudnn {
namespace {

cudnnDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::f16:
      return CUDNN_DATA_HALF;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      fail<DTypeError>("conv2d: {} has no CUDA implementation", name_of(dtype));
  }
}

/// Extents in cuDNN's order (n, c, h, w) of a tensor with channels as the innermost dimension.
using Extents = std::array<std::int64_t, 4>;

Descriptor tensor(TensorId id, const Extents& extents, cudnnDataType_t type, bool is_virtual) {
  const auto [n, c, h, w] = extents;
  const Extents strides{h * w * c, 1, w * c, c};
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, static_cast<std::int64_t>(id))
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(extents))
      .set_all(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(strides))
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16})
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual)
      .finalize("refuses a tensor");
  return made;
}

Descriptor convolution(const Conv2dOptions& o) {
  const std::array<std::int64_t, 2> before{o.pad_top, o.pad_left};
  const std::array<std::int64_t, 2> after{o.pad_bottom, o.pad_right};
  const std::array<std::int64_t, 2> strides{o.stride_h, o.stride_w};
  const std::array<std::int64_t, 2> dilations{1, 1};
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2})
      .set_all(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::span<const std::int64_t>(before))
      .set_all(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::span<const std::int64_t>(after))
      .set_all(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, std::span<const std::int64_t>(strides))
      .set_all(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::span<const std::int64_t>(dilations))
      .finalize("refuses a convolution");
  return made;
}

/// The operation of a pass and the attributes for its operands.
struct PassAttributes {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};

PassAttributes attributes_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::forward:
      break;
    case ConvPass::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvPass::backward_weight:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

/// Returns the description of an addition.
Descriptor addition() {
  Descriptor made(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT)
      .finalize("refuses an addition");
  return made;
}

Descriptor bias_operation(const Descriptor& how,
                          const Descriptor& sum,
                          const Descriptor& bias,
                          const Descriptor& y) {
  Descriptor made(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, bias)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y)
      .finalize("refuses to add a bias");
  return made;
}

}  // namespace

ConvGraph::ConvGraph(const ConvProblem& problem) {
  const ConvGeometry& g = problem.geometry;
  const cudnnDataType_t type = data_type(problem.dtype);
  const Extents y_extents{g.n, g.k, g.p, g.q};
  // References into the vector stay valid because its capacity is never exceeded.
  parts_.reserve(10);
  const auto keep = [&](Descriptor made) -> const Descriptor& {
    return parts_.emplace_back(std::move(made));
  };
  const Descriptor& x = keep(tensor(kX, {g.n, g.c, g.h, g.w}, type, false));
  const Descriptor& w = keep(tensor(kW, {g.k, g.group_c(), g.r, g.s}, type, false));
  const Descriptor& y = keep(tensor(kY, y_extents, type, false));
  const Descriptor& how = keep(convolution(g.options));
  std::vector<cudnnBackendDescriptor_t> operations;
  const auto convolve = [&](const Descriptor& result) {
    const PassAttributes names = attributes_of(problem.pass);
    Descriptor made(names.operation);
    made.set(names.x, x)
        .set(names.w, w)
        .set(names.y, result)
        .set(names.convolution, how)
        .set(names.alpha, 1.0F)
        .set(names.beta, problem.accumulate ? 1.0F : 0.0F)
        .finalize("refuses a convolution of these sizes");
    operations.push_back(keep(std::move(made)).raw());
  };
  if (problem.bias) {
    // The sum before the bias is neither rounded nor stored.
    const Descriptor& sum = keep(tensor(kSum, y_extents, CUDNN_DATA_FLOAT, true));
    const Descriptor& bias = keep(tensor(kBias, {1, g.k, 1, 1}, type, false));
    convolve(sum);
    operations.push_back(keep(bias_operation(keep(addition()), sum, bias, y)).raw());
  } else {
    convolve(y);
  }
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations)
      .finalize("refuses an operation graph");
  keep(std::move(graph));
}

}  // namespace learn::cuda::cudnn
