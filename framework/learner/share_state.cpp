#include "framework/learner/share_state.h"

#include "framework/distributed/communicator.h"
#include "framework/learner/find/memory_state.h"
#include "framework/learner/learner.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>

namespace learn {
namespace {

enum class Kind : std::int32_t { end, tensor, integer, real, text };

/// Precedes a value's name and bytes. Without padding, because it is sent as bytes.
struct Header {
  Kind kind = Kind::end;
  DType dtype = DType::f32;
  std::array<std::byte, 4 - sizeof(DType)> unused{};
  std::uint64_t name = 0;
  std::uint64_t bytes = 0;
  std::array<std::int64_t, 8> extents{};
  std::int64_t rank = 0;
};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

void send_value(Header header,
                std::string name,
                std::span<std::byte> bytes,
                Communicator& communicator) {
  header.name = name.size();
  header.bytes = bytes.size();
  communicator.broadcast(bytes_of(header), 0);
  communicator.broadcast(std::as_writable_bytes(std::span(name)), 0);
  communicator.broadcast(bytes, 0);
}

void send(MemoryState& state, Communicator& communicator) {
  for (auto& [name, tensor] : state.tensors) {
    Header header{.kind = Kind::tensor, .dtype = tensor.dtype(), .rank = tensor.shape().rank()};
    for (int i = 0; i < tensor.shape().rank(); ++i)
      header.extents.at(static_cast<std::size_t>(i)) = tensor.shape()[i];
    send_value(header, name, {tensor.raw(), tensor.bytes()}, communicator);
  }
  for (auto& [name, value] : state.integers)
    send_value({.kind = Kind::integer}, name, bytes_of(value), communicator);
  for (auto& [name, value] : state.reals)
    send_value({.kind = Kind::real}, name, bytes_of(value), communicator);
  for (auto& [name, value] : state.texts)
    send_value({.kind = Kind::text}, name, std::as_writable_bytes(std::span(value)), communicator);
  Header end;
  communicator.broadcast(bytes_of(end), 0);
}

MemoryState receive(Communicator& communicator) {
  MemoryState state;
  for (;;) {
    Header header;
    communicator.broadcast(bytes_of(header), 0);
    if (header.kind == Kind::end) return state;
    std::string name(header.name, '\0');
    communicator.broadcast(std::as_writable_bytes(std::span(name)), 0);
    std::span<std::byte> place;
    if (header.kind == Kind::tensor) {
      Shape shape;
      for (std::int64_t i = 0; i < header.rank; ++i)
        shape.push_back(header.extents.at(static_cast<std::size_t>(i)));
      Tensor& tensor = state.tensors[name];
      tensor = host_tensor(shape, header.dtype);
      place = {tensor.raw(), tensor.bytes()};
    } else if (header.kind == Kind::integer) {
      place = bytes_of(state.integers[name]);
    } else if (header.kind == Kind::real) {
      place = bytes_of(state.reals[name]);
    } else {
      std::string& text = state.texts[name];
      text.resize(header.bytes);
      place = std::as_writable_bytes(std::span(text));
    }
    communicator.broadcast(place, 0);
  }
}

}  // namespace

void share_state(Learner& learn, Communicator& communicator, const FitCallbacks& of_fit) {
  communicator.set_purpose("the state of rank 0");
  if (communicator.place().rank == 0) {
    MemoryState state;
    MemorySaver saver(state);
    learn.visit_state(saver, of_fit);
    return send(state, communicator);
  }
  const MemoryState state = receive(communicator);
  MemoryLoader loader(state);
  try {
    learn.visit_state(loader, of_fit);
  } catch (const std::out_of_range&) {
    fail<RanksError>(
        "{} has callbacks or optimizer state that rank 0 lacks: all ranks must have "
        "the same ones, but those that only report",
        communicator.place().name());
  }
}

}  // namespace learn
