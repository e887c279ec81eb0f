#include "tests/export/run_onnx.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

namespace {

using namespace learn;

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

Numbers numbers_of(const onnx::TensorProto& tensor) {
  Numbers out{{tensor.dims().begin(), tensor.dims().end()}, {}};
  const auto n = static_cast<std::size_t>(product(out.shape));
  const auto read = [&]<class T>(T) {
    if (tensor.raw_data().size() != n * sizeof(T))
      throw std::runtime_error("size of " + tensor.name());
    std::vector<T> raw(n);
    std::memcpy(raw.data(), tensor.raw_data().data(), n * sizeof(T));
    for (const T value : raw) out.values.push_back(static_cast<double>(value));
  };
  if (tensor.data_type() == onnx::TensorProto::INT64)
    read(std::int64_t{});
  else
    read(float{});
  return out;
}

struct Attributes {
  explicit Attributes(const onnx::NodeProto& node) {
    for (const auto& a : node.attribute()) all[a.name()] = &a;
  }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const {
    return all.contains(name) ? all.at(name)->i() : otherwise;
  }
  double real(const std::string& name) const { return static_cast<double>(all.at(name)->f()); }
  std::int64_t at(const std::string& name, int i) const { return all.at(name)->ints(i); }
  std::map<std::string, const onnx::AttributeProto*> all;
};

Numbers mapped(Numbers x, const std::function<double(double)>& f) {
  for (double& value : x.values) value = f(value);
  return x;
}

/// With the broadcasting of numpy, of `b` to `a`.
Numbers joined(Numbers a, const Numbers& b, const std::function<double(double, double)>& f) {
  const std::size_t rank = a.shape.size();
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i);
    std::int64_t at = 0;
    std::int64_t step = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t index = rest % a.shape[rank - 1 - d];
      rest /= a.shape[rank - 1 - d];
      if (d >= b.shape.size()) continue;
      const std::int64_t extent = b.shape[b.shape.size() - 1 - d];
      if (extent != 1 && extent != a.shape[rank - 1 - d]) throw std::runtime_error("broadcast");
      at += (extent == 1 ? 0 : index) * step;
      step *= extent;
    }
    a.values[i] = f(a.values[i], b.values.at(static_cast<std::size_t>(at)));
  }
  return a;
}

/// Calls `visit(n, c, h, w, y)` for each place of an output, with the place in memory.
void for_each_place(const std::vector<std::int64_t>& s, const auto& visit) {
  std::size_t i = 0;
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t c = 0; c < s[1]; ++c)
      for (std::int64_t h = 0; h < s[2]; ++h)
        for (std::int64_t w = 0; w < s[3]; ++w) visit(n, c, h, w, i++);
}

/// Zero outside of the image.
bool inside(const Numbers& x, std::int64_t h, std::int64_t w) {
  return h >= 0 && h < x.shape[2] && w >= 0 && w < x.shape[3];
}
double pixel(const Numbers& x, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return x
      .values[static_cast<std::size_t>(((n * x.shape[1] + c) * x.shape[2] + h) * x.shape[3] + w)];
}

Numbers windows(const Numbers& x, const Attributes& a, std::int64_t channels) {
  const auto extent = [&](int i) {
    return (x.shape[static_cast<std::size_t>(2 + i)] + a.at("pads", i) + a.at("pads", i + 2) -
            a.at("kernel_shape", i)) /
               a.at("strides", i) +
           1;
  };
  Numbers y{{x.shape[0], channels, extent(0), extent(1)}, {}};
  y.values.resize(static_cast<std::size_t>(product(y.shape)));
  return y;
}

Numbers conv(const Numbers& x, const Numbers& w, const Numbers* bias, const Attributes& a) {
  Numbers y = windows(x, a, w.shape[0]);
  const std::int64_t per_group = w.shape[1];
  const std::int64_t outputs = w.shape[0] / a.integer("group", 1);
  for_each_place(y.shape, [&](auto n, auto k, auto p, auto q, auto i) {
    double sum = bias != nullptr ? bias->values[static_cast<std::size_t>(k)] : 0;
    for (std::int64_t c = 0; c < per_group; ++c)
      for (std::int64_t r = 0; r < w.shape[2]; ++r)
        for (std::int64_t s = 0; s < w.shape[3]; ++s) {
          const std::int64_t h = p * a.at("strides", 0) - a.at("pads", 0) + r;
          const std::int64_t v = q * a.at("strides", 1) - a.at("pads", 1) + s;
          if (inside(x, h, v))
            sum += pixel(x, n, k / outputs * per_group + c, h, v) * pixel(w, k, c, r, s);
        }
    y.values[i] = sum;
  });
  return y;
}

Numbers pool(const Numbers& x, const Attributes& a, bool max) {
  Numbers y = windows(x, a, x.shape[1]);
  for_each_place(y.shape, [&](auto n, auto c, auto p, auto q, auto i) {
    double sum = 0;
    double top = -std::numeric_limits<double>::infinity();
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < a.at("kernel_shape", 0); ++r)
      for (std::int64_t s = 0; s < a.at("kernel_shape", 1); ++s) {
        const std::int64_t h = p * a.at("strides", 0) - a.at("pads", 0) + r;
        const std::int64_t w = q * a.at("strides", 1) - a.at("pads", 1) + s;
        if (!inside(x, h, w)) continue;
        sum += pixel(x, n, c, h, w);
        top = std::max(top, pixel(x, n, c, h, w));
        ++count;
      }
    if (a.integer("count_include_pad", 0) == 1)
      count = a.at("kernel_shape", 0) * a.at("kernel_shape", 1);
    y.values[i] = max ? top : sum / static_cast<double>(count);
  });
  return y;
}

Numbers global_pool(const Numbers& x, bool max) {
  Numbers y{{x.shape[0], x.shape[1], 1, 1}, {}};
  const auto pixels = static_cast<std::size_t>(x.shape[2] * x.shape[3]);
  for (std::size_t i = 0; i < x.values.size(); i += pixels) {
    const auto begin = x.values.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = begin + static_cast<std::ptrdiff_t>(pixels);
    double sum = 0;
    for (auto at = begin; at != end; ++at) sum += *at;
    y.values.push_back(max ? *std::max_element(begin, end) : sum / static_cast<double>(pixels));
  }
  return y;
}

Numbers gemm(const Numbers& x, const Numbers& w, const Numbers* bias) {
  Numbers y{{x.shape[0], w.shape[0]}, {}};
  if (x.shape.size() != 2 || x.shape[1] != w.shape[1]) throw std::runtime_error("Gemm");
  const auto columns = static_cast<std::size_t>(w.shape[1]);
  for (std::size_t n = 0; n < static_cast<std::size_t>(x.shape[0]); ++n)
    for (std::size_t k = 0; k < static_cast<std::size_t>(w.shape[0]); ++k) {
      double sum = bias != nullptr ? bias->values[k] : 0;
      for (std::size_t c = 0; c < columns; ++c)
        sum += x.values[n * columns + c] * w.values[k * columns + c];
      y.values.push_back(sum);
    }
  return y;
}

Numbers transpose(const Numbers& x, const Attributes& a) {
  Numbers y = x;
  for (std::size_t d = 0; d < 4; ++d)
    y.shape[d] = x.shape[static_cast<std::size_t>(a.at("perm", static_cast<int>(d)))];
  for_each_place(y.shape, [&](auto n, auto c, auto h, auto w, auto i) {
    std::int64_t at[4];
    const std::int64_t place[4] = {n, c, h, w};
    for (int d = 0; d < 4; ++d) at[a.at("perm", d)] = place[d];
    y.values[i] = pixel(x, at[0], at[1], at[2], at[3]);
  });
  return y;
}

Numbers concat(const std::vector<const Numbers*>& parts, std::size_t axis) {
  Numbers y{parts.front()->shape, {}};
  y.shape[axis] = 0;
  for (const Numbers* part : parts) y.shape[axis] += part->shape[axis];
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= y.shape[d];
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Numbers* part : parts) {
      const auto size = static_cast<std::ptrdiff_t>(part->values.size()) / outer;
      y.values.insert(
          y.values.end(), part->values.begin() + o * size, part->values.begin() + (o + 1) * size);
    }
  return y;
}

Numbers layer_norm(const std::vector<const Numbers*>& in, double eps) {
  Numbers y = *in.at(0);
  const std::size_t columns = in.at(1)->values.size();
  for (std::size_t row = 0; row < y.values.size(); row += columns) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < columns; ++i)
      mean += y.values[row + i] / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i)
      variance += std::pow(y.values[row + i] - mean, 2) / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i)
      y.values[row + i] =
          (y.values[row + i] - mean) / std::sqrt(variance + eps) * in[1]->values[i] +
          in.at(2)->values[i];
  }
  return y;
}

Numbers batch_norm(const std::vector<const Numbers*>& in, double eps) {
  Numbers y = *in[0];
  const auto channels = static_cast<std::size_t>(y.shape[1]);
  const std::size_t pixels =
      y.shape.size() == 4 ? static_cast<std::size_t>(y.shape[2] * y.shape[3]) : 1;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const std::size_t c = i / pixels % channels;
    y.values[i] =
        (y.values[i] - in[3]->values[c]) / std::sqrt(in[4]->values[c] + eps) * in[1]->values[c] +
        in[2]->values[c];
  }
  return y;
}

Numbers softmax(Numbers x) {
  const auto columns = static_cast<std::size_t>(x.shape[1]);
  for (std::size_t row = 0; row < x.values.size(); row += columns) {
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += std::exp(x.values[row + c]);
    for (std::size_t c = 0; c < columns; ++c) x.values[row + c] = std::exp(x.values[row + c]) / sum;
  }
  return x;
}

Numbers reshaped(Numbers x, const Numbers& shape) {
  std::vector<std::int64_t> to;
  for (std::size_t d = 0; d < shape.values.size(); ++d)
    to.push_back(shape.values[d] == 0 ? x.shape[d] : static_cast<std::int64_t>(shape.values[d]));
  if (product(to) != product(x.shape)) throw std::runtime_error("Reshape");
  x.shape = to;
  return x;
}

Numbers row_means(const Numbers& x) {
  Numbers y{x.shape, {}};
  y.shape.back() = 1;
  const auto columns = static_cast<std::ptrdiff_t>(x.shape.back());
  for (auto row = x.values.begin(); row != x.values.end(); row += columns)
    y.values.push_back(std::accumulate(row, row + columns, 0.0) / static_cast<double>(columns));
  return y;
}

Numbers run(const onnx::NodeProto& node, const std::vector<const Numbers*>& in) {
  const std::string& op = node.op_type();
  const Attributes a(node);
  const Numbers& x = *in.at(0);
  const Numbers* third = in.size() > 2 ? in[2] : nullptr;
  if (op == "Conv") return conv(x, *in.at(1), third, a);
  if (op == "Gemm" && a.integer("transB", 0) == 1) return gemm(x, *in.at(1), third);
  if (op == "BatchNormalization") return batch_norm(in, a.real("epsilon"));
  if (op == "LayerNormalization") return layer_norm(in, a.real("epsilon"));
  if (op == "ReduceMean" && a.at("axes", 0) == -1) return row_means(x);
  if (op == "Relu") return mapped(x, [](double v) { return std::max(v, 0.0); });
  if (op == "Clip") {
    if (!in.at(1)->shape.empty() || !third->shape.empty())
      throw std::runtime_error("limits of Clip");
    const double least = in[1]->values.at(0);
    const double most = third->values.at(0);
    return mapped(x, [=](double v) { return std::min(std::max(v, least), most); });
  }
  if (op == "LeakyRelu")
    return mapped(x, [&](double v) { return v < 0 ? v * a.real("alpha") : v; });
  if (op == "Erf") return mapped(x, [](double v) { return std::erf(v); });
  if (op == "Abs") return mapped(x, [](double v) { return std::abs(v); });
  if (op == "Exp") return mapped(x, [](double v) { return std::exp(v); });
  if (op == "Log") return mapped(x, [](double v) { return std::log(v); });
  if (op == "Sqrt") return mapped(x, [](double v) { return std::sqrt(v); });
  if (op == "Tanh") return mapped(x, [](double v) { return std::tanh(v); });
  if (op == "Sigmoid") return mapped(x, [](double v) { return 1 / (1 + std::exp(-v)); });
  if (op == "Softplus")
    return mapped(x,
                  [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); });
  if (op == "HardSwish")
    return mapped(x, [](double v) { return v * std::clamp(v + 3, 0.0, 6.0) / 6; });
  if (op == "Add") return joined(x, *in.at(1), std::plus<>());
  if (op == "Sub") return joined(x, *in.at(1), std::minus<>());
  if (op == "Mul") return joined(x, *in.at(1), std::multiplies<>());
  if (op == "Div") return joined(x, *in.at(1), std::divides<>());
  if (op == "MaxPool" || op == "AveragePool") return pool(x, a, op == "MaxPool");
  if (op == "GlobalMaxPool" || op == "GlobalAveragePool")
    return global_pool(x, op == "GlobalMaxPool");
  if (op == "Flatten")
    return reshaped(x, {{2}, {0, static_cast<double>(product(x.shape) / x.shape[0])}});
  if (op == "Reshape") return reshaped(x, *in.at(1));
  if (op == "Transpose") return transpose(x, a);
  if (op == "Concat") return concat(in, static_cast<std::size_t>(a.integer("axis", 0)));
  if (op == "Softmax" && a.integer("axis", -1) == 1) return softmax(x);
  throw std::runtime_error("operator " + op);
}

}  // namespace

Numbers run_onnx(const onnx::ModelProto& model, const Numbers& image) {
  std::map<std::string, Numbers> values;
  for (const auto& tensor : model.graph().initializer())
    if (!values.emplace(tensor.name(), numbers_of(tensor)).second)
      throw std::runtime_error("twice: " + tensor.name());
  values[model.graph().input(0).name()] = image;
  for (const auto& node : model.graph().node()) {
    std::vector<const Numbers*> in;
    for (const std::string& name : node.input()) in.push_back(&values.at(name));
    if (!values.emplace(node.output(0), run(node, in)).second)
      throw std::runtime_error("twice: " + node.output(0));
  }
  return values.at(model.graph().output(0).name());
}

Numbers channels_first(const Tensor& images) {
  const Shape& s = images.shape();
  Numbers out{{s[0], s[3], s[1], s[2]}, {}};
  const auto from = images.span<float>();
  for_each_place(out.shape, [&](auto n, auto c, auto h, auto w, auto) {
    out.values.push_back(static_cast<double>(
        from[static_cast<std::size_t>(((n * s[1] + h) * s[2] + w) * s[3] + c)]));
  });
  return out;
}
