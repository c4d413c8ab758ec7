// PlanWriter: lays out a Plan block. It appends lists and strings behind the fixed part.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "wire/plan.h"

namespace brig {

class PlanWriter {
 public:
  PlanWriter() : block_(sizeof(Plan)) {}

  PlanText text(std::string_view value) {
    const std::size_t at = grow(value.size() + 1, 1);
    std::memcpy(block_.data() + at, value.data(), value.size());
    return static_cast<PlanText>(at);
  }

  template <typename T>
  PlanList<T> list(std::span<const T> items) {
    const std::size_t at = grow(items.size_bytes(), alignof(T));
    if (!items.empty()) std::memcpy(block_.data() + at, items.data(), items.size_bytes());
    return {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(items.size())};
  }
  template <typename T>
  PlanList<T> list(const std::vector<T>& items) {
    return list(std::span<const T>(items));
  }

  // Returns the block with `plan` as its fixed part. The writer is empty afterwards.
  std::vector<std::byte> take(Plan plan) {
    grow(0, 8);
    plan.magic = kPlanMagic;
    plan.size = static_cast<std::uint32_t>(block_.size());
    std::memcpy(block_.data(), &plan, sizeof plan);
    return std::move(block_);
  }

 private:
  std::size_t grow(std::size_t size, std::size_t alignment) {
    const std::size_t at = (block_.size() + alignment - 1) / alignment * alignment;
    block_.resize(at + size);
    return at;
  }
  std::vector<std::byte> block_;
};

}  // namespace brig
