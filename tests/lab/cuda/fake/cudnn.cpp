// cuDNN without a GPU. Descriptors, heuristics and plans are the real library's, made for an H200.
// Ours are the handle and the execution, which reads what to do from the plan's own JSON.
#include "tests/lab/cuda/fake/api_error.h"
#include "tests/lab/cuda/fake/conv_loops.h"
#include "tests/lab/cuda/fake/dense_tensor.h"
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/real_library.h"
#include "tests/lab/cuda/fake/refusal.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"
#include "tests/lab/cuda/fake/survey.h"

#include <cudnn.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using namespace fakecuda;
using Json = nlohmann::json;

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace {

/// The real library's function of that name.
template <class F>
F* real(F* like, const char* symbol) {
  static const RealLibrary library("libcudnn.so.9", LEARN_CUDNN_LIBRARY);
  return library.function(like, symbol);
}
#define LEARN_REAL(function) real(&function, #function)

/// The description of the device that plans are made for. FAKE_CUDA_DEVICE names the file where the
/// source tree is not.
std::string device_json() {
  const char* const file = std::getenv("FAKE_CUDA_DEVICE");
  std::ifstream in(file != nullptr ? file : LEARN_DEVICES "/h200.json");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.empty())
    stop("cannot read the device description {}",
         file != nullptr ? file : LEARN_DEVICES "/h200.json");
  return text;
}

/// Contents of a variant pack, which the real library does not return.
struct Pack {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  void* workspace = nullptr;
};
std::map<cudnnBackendDescriptor_t, Pack>& packs() {
  static std::map<cudnnBackendDescriptor_t, Pack> all;
  return all;
}

void remember(cudnnBackendDescriptor_t descriptor,
              cudnnBackendAttributeName_t name,
              std::int64_t count,
              const void* values) {
  const std::lock_guard lock(api_mutex());
  if (name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) {
    const auto* ids = static_cast<const std::int64_t*>(values);
    packs()[descriptor].ids.assign(ids, ids + count);
  } else if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) {
    auto* const* pointers = static_cast<void* const*>(values);
    packs()[descriptor].pointers.assign(pointers, pointers + count);
  } else if (name == CUDNN_ATTR_VARIANT_PACK_WORKSPACE) {
    packs()[descriptor].workspace = *static_cast<void* const*>(values);
  }
}

/// A tensor of a plan. Virtual ones exist only while the plan runs.
struct Tensor {
  std::vector<std::int64_t> extents;  // n, c, h, w
  Element type = Element::f32;
  bool is_virtual = false;
  std::int64_t alignment = 1;
  void* data = nullptr;

  [[nodiscard]] std::int64_t elements() const {
    return extents[0] * extents[1] * extents[2] * extents[3];
  }
};

Element element_of(const std::string& type) {
  if (type == "CUDNN_DATA_FLOAT") return Element::f32;
  if (type == "CUDNN_DATA_HALF") return Element::f16;
  if (type == "CUDNN_DATA_BFLOAT16") return Element::bf16;
  stop("cudnn: tensors of {} are not modelled", type);
}

/// One run of one plan.
class Run {
 public:
  Run(const std::string& plan, std::size_t workspace, Pack pack)
      : pack_(std::move(pack)), workspace_(workspace) {
    Json graph = Json::parse(plan).at("operationGraph");
    for (const Json& tensor : graph.at("tensors")) add_tensor(tensor);
    nodes_ = graph.at("nodes");
    for (const Json& node : nodes_) check_node(node);
    if (workspace_ > 0) {
      check_range(pack_.workspace, workspace_, "cudnn: workspace");
      check_alignment(pack_.workspace, 16, "cudnn: workspace");
    }
  }

  void execute() {
    if (surveying()) return survey();
    scribble(pack_.workspace, workspace_, "cudnn: workspace");
    if (hostile_libraries()) spoil_results();
    for (const Json& node : nodes_) {
      const auto& operation = node.at("operation").get_ref<const std::string&>();
      if (operation == kPointwise)
        add(node);
      else
        convolve(node, operation);
    }
    virtuals_.clear();
  }

 private:
  static constexpr const char* kForward = "CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR";
  static constexpr const char* kData =
      "CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR";
  static constexpr const char* kWeight =
      "CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR";
  static constexpr const char* kPointwise = "CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR";

  void add_tensor(const Json& json) {
    const auto name = json.at("name").get<std::string>();
    Tensor tensor{.extents = json.at("dim"),
                  .type = element_of(json.at("dataType")),
                  .is_virtual = json.at("isVirtual"),
                  .alignment = json.at("ptrAlignment")};
    const std::vector<std::int64_t> strides = json.at("stride");
    if (tensor.extents.size() != 4 || json.at("isByValue").get<bool>() || json.at("vectCount") != 1)
      stop("cudnn: tensor {} is of a kind that is not modelled: {}", name, json.dump());
    const std::int64_t c = tensor.extents[1];
    const std::int64_t h = tensor.extents[2];
    const std::int64_t w = tensor.extents[3];
    if (strides != std::vector<std::int64_t>{h * w * c, 1, w * c, c})
      stop("cudnn: tensor {} is not dense with channels innermost: {}", name, json.dump());
    if (!tensor.is_virtual) {
      const auto found = std::find(pack_.ids.begin(), pack_.ids.end(), std::stoll(name));
      if (found == pack_.ids.end()) stop("cudnn: there is no address for tensor {}", name);
      tensor.data = pack_.pointers[static_cast<std::size_t>(found - pack_.ids.begin())];
      const auto bytes = static_cast<std::size_t>(tensor.elements()) * bytes_of(tensor.type);
      check_range(tensor.data, bytes, "cudnn: tensor " + name);
      check_alignment(tensor.data, tensor.alignment, "cudnn: tensor " + name);
    }
    tensors_.emplace(name, std::move(tensor));
  }

  /// One operation, as all of a plan's nodes are one: each real tensor moves once.
  void survey() const {
    Work work;
    std::string name = "cudnn";
    for (const Json& node : nodes_) {
      const auto& operation = node.at("operation").get_ref<const std::string&>();
      if (operation == kPointwise) continue;
      const auto [x, w, y, result] = roles(operation);
      const ConvSizes z = sizes(node, tensor(node, x), tensor(node, w), tensor(node, y));
      const std::int64_t sums = z.n * z.p * z.q * z.k;
      const std::int64_t terms = z.c / z.groups * z.r * z.s;
      work.operations += 2 * static_cast<std::uint64_t>(sums * terms);
      name += fmt::format(",{},type={},n={},h={},c={},k={},r={},stride={},p={}",
                          operation == kForward ? "forward"
                          : operation == kData  ? "data"
                                                : "weight",
                          name_of(tensor(node, x).type),
                          z.n,
                          z.h,
                          z.c,
                          z.k,
                          z.r,
                          z.stride[0],
                          z.p);
      if (node.at("beta") != 0.0) work.read += bytes_of_tensor(tensor(node, result));
      work.written += bytes_of_tensor(tensor(node, result));
      for (const char* const role : {x, w, y})
        if (role != result) work.read += bytes_of_tensor(tensor(node, role));
    }
    note_work(name, work);
  }

  static std::uint64_t bytes_of_tensor(const Tensor& t) {
    return static_cast<std::uint64_t>(t.elements()) * bytes_of(t.type);
  }

  /// Names of a convolution's operands, and which of them it writes.
  struct Roles {
    const char *x, *w, *y, *result;
  };
  static Roles roles(const std::string& operation) {
    if (operation == kForward) return {"X", "W", "Y", "Y"};
    if (operation == kData) return {"dX", "W", "dY", "dX"};
    return {"X", "dW", "dY", "dW"};
  }

  static void check_node(const Json& node) {
    const auto& operation = node.at("operation").get_ref<const std::string&>();
    const bool is_conv = operation == kForward || operation == kData || operation == kWeight;
    const bool is_addition = operation == kPointwise &&
                             node.at("pointwiseMode") == "CUDNN_POINTWISE_ADD" &&
                             node.at("alpha1") == 1.0 && node.at("alpha2") == 1.0;
    if ((!is_conv && !is_addition) || node.at("mathPrec") != "CUDNN_DATA_FLOAT" ||
        (is_conv && node.at("mode") != "CUDNN_CROSS_CORRELATION"))
      stop("cudnn: this operation is not modelled: {}", node.dump());
  }

  /// A result that is overwritten may be written before the operands are read.
  void spoil_results() {
    for (const Json& node : nodes_) {
      const auto& operation = node.at("operation").get_ref<const std::string&>();
      const char* role = operation == kData ? "dX" : operation == kWeight ? "dW" : "Y";
      const Tensor& result = tensor(node, role);
      const bool added_to = operation != kPointwise && node.at("beta") != 0.0;
      if (!result.is_virtual && !added_to)
        scribble(result.data,
                 static_cast<std::size_t>(result.elements()) * bytes_of(result.type),
                 "cudnn: result");
    }
  }

  const Tensor& tensor(const Json& node, const char* role) const {
    return tensors_.at(node.at(role).get<std::string>());
  }

  std::vector<float> read(const Json& node, const char* role) {
    const auto name = node.at(role).get<std::string>();
    const Tensor& from = tensors_.at(name);
    if (from.is_virtual) return virtuals_.at(name);
    return read_floats(from.data, from.elements(), from.type, std::string("cudnn: ") + role);
  }

  void write(const Json& node, const char* role, std::vector<float> values) {
    const auto name = node.at(role).get<std::string>();
    const Tensor& to = tensors_.at(name);
    if (to.is_virtual) {
      virtuals_[name] = std::move(values);
      return;
    }
    unsettle(values, to.type);
    write_floats(to.data, values, to.type, std::string("cudnn: ") + role);
  }

  static ConvSizes sizes(const Json& node, const Tensor& x, const Tensor& w, const Tensor& y) {
    const std::array<std::int64_t, 2> before =
        node.contains("pad") ? node.at("pad") : node.at("pad_lower");
    return {x.extents[0],
            x.extents[2],
            x.extents[3],
            x.extents[1],
            w.extents[0],
            w.extents[2],
            w.extents[3],
            y.extents[2],
            y.extents[3],
            x.extents[1] / w.extents[1],
            before,
            node.at("stride"),
            node.at("dilation")};
  }

  void convolve(const Json& node, const std::string& operation) {
    const bool forward = operation == kForward;
    const bool data = operation == kData;
    const auto [x, w, y, result] = roles(operation);
    const ConvSizes z = sizes(node, tensor(node, x), tensor(node, w), tensor(node, y));
    std::vector<float> sums = forward ? conv_forward(z, read(node, x), read(node, w))
                              : data  ? conv_backward_data(z, read(node, y), read(node, w))
                                      : conv_backward_weight(z, read(node, x), read(node, y));
    const float alpha = node.at("alpha");
    const float beta = node.at("beta");
    // With beta 0 the old values are not read: they may be anything.
    const std::vector<float> old = beta != 0 ? read(node, result) : std::vector<float>();
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] = alpha * sums[i] + (beta != 0 ? beta * old[i] : 0.0F);
    write(node, result, std::move(sums));
  }

  /// y = x + b, where b has one value per channel.
  void add(const Json& node) {
    const Tensor& b = tensor(node, "B");
    const std::int64_t channels = b.extents[1];
    if (b.elements() != channels || tensor(node, "X").extents[1] != channels)
      stop("cudnn: only the addition of a bias is modelled, not {}", node.dump());
    std::vector<float> sums = read(node, "X");
    const std::vector<float> bias = read(node, "B");
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += bias[i % bias.size()];
    write(node, "Y", std::move(sums));
  }

  Pack pack_;
  std::size_t workspace_;
  std::map<std::string, Tensor> tensors_;
  Json nodes_;
  std::map<std::string, std::vector<float>> virtuals_;
};

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       std::int64_t count,
                                       const void* values) {
  const auto set = LEARN_REAL(cudnnBackendSetAttribute);
  if (name == CUDNN_ATTR_DEVICEPROP_HANDLE) {
    const std::string json = device_json();
    return set(descriptor,
               CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
               CUDNN_TYPE_CHAR,
               static_cast<std::int64_t>(json.size()),
               json.data());
  }
  if (type == CUDNN_TYPE_HANDLE) stop("cudnn: a handle as attribute {} is not modelled", int{name});
  remember(descriptor, name, count, values);
  return set(descriptor, name, type, count, values);
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  {
    const std::lock_guard lock(api_mutex());
    packs().erase(descriptor);
  }
  return LEARN_REAL(cudnnBackendDestroyDescriptor)(descriptor);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                  cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const auto get = LEARN_REAL(cudnnBackendGetAttribute);
  std::int64_t count = 0;
  const auto json_name = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
  cudnnStatus_t status = get(plan, json_name, CUDNN_TYPE_CHAR, 0, &count, nullptr);
  std::string json(static_cast<std::size_t>(count), '\0');
  if (status == CUDNN_STATUS_SUCCESS)
    status = get(plan, json_name, CUDNN_TYPE_CHAR, count, &count, json.data());
  std::int64_t workspace = 0;
  if (status == CUDNN_STATUS_SUCCESS)
    status = get(
        plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &workspace);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  const std::lock_guard lock(api_mutex());
  if (is_refused("cudnnBackendExecute", json)) {
    leave_failed_launch();
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  // Addresses, sizes and alignment are judged now; the rest when the stream comes to it.
  const auto run =
      std::make_shared<Run>(json, static_cast<std::size_t>(workspace), packs().at(pack));
  enqueue(handle->stream, "cudnn", [run] { run->execute(); });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
