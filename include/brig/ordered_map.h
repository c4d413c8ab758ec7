// brig::OrderedMap: the members of a JSON object, in the order in which they were added. Finding a
// member takes as long with many members as with few, whatever the keys are: callers choose the
// keys, so they are hashed with a secret (key_hash.h). A reference or iterator to a member stays
// valid until that member is erased, also when other members come and go.
#pragma once

#include <brig/key_hash.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace brig {

// Has the part of std::map's interface that nlohmann::basic_json uses. Keys are texts. `Less` is
// ignored; it is there because basic_json passes it.
template <typename Key, typename T, typename Less = std::less<>,
          typename Allocator = std::allocator<std::pair<const Key, T>>>
class OrderedMap {
 public:
  using key_type = Key;
  using mapped_type = T;
  using value_type = std::pair<const Key, T>;
  using key_compare = std::less<>;
  using allocator_type = Allocator;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = value_type&;
  using const_reference = const value_type&;

 private:
  struct Link {
    Link* before;
    Link* after;
  };
  struct Node : Link {
    template <typename K, typename... Values>
    explicit Node(K&& key, Values&&... values)
        : Link{},
          member(std::piecewise_construct, std::forward_as_tuple(std::forward<K>(key)),
                 std::forward_as_tuple(std::forward<Values>(values)...)) {}
    value_type member;
  };
  static std::string_view text_of(const Node& node) { return node.member.first; }
  static std::string_view text_of(std::string_view key) { return key; }
  struct Hash {
    using is_transparent = void;
    template <typename K>
    std::size_t operator()(const K& key) const {
      return KeyHash::of(text_of(key));
    }
  };
  struct Same {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return text_of(a) == text_of(b);
    }
  };
  using Index =
      std::unordered_set<Node, Hash, Same,
                         typename std::allocator_traits<Allocator>::template rebind_alloc<Node>>;

  template <bool kConst>
  class Iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = OrderedMap::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = std::conditional_t<kConst, const value_type*, value_type*>;
    using reference = std::conditional_t<kConst, const value_type&, value_type&>;

    Iterator() = default;
    template <bool kOther>
    requires(kConst && !kOther)
        // NOLINTNEXTLINE(google-explicit-constructor): as every container's
        Iterator(const Iterator<kOther>& other)
        : link_(other.link_) {}

    reference operator*() const { return static_cast<Node*>(link_)->member; }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      link_ = link_->after;
      return *this;
    }
    Iterator& operator--() {
      link_ = link_->before;
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    Iterator operator--(int) {
      Iterator old = *this;
      --*this;
      return old;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    friend OrderedMap;
    friend Iterator<true>;
    explicit Iterator(Link* link) : link_(link) {}
    Link* link_ = nullptr;
  };

 public:
  using iterator = Iterator<false>;
  using const_iterator = Iterator<true>;

  OrderedMap() = default;
  template <typename Input>
  OrderedMap(Input first, Input last) {
    insert(first, last);
  }
  OrderedMap(std::initializer_list<value_type> members) { insert(members.begin(), members.end()); }
  OrderedMap(const OrderedMap& other) { insert(other.begin(), other.end()); }
  OrderedMap(OrderedMap&& other) noexcept { swap(other); }
  OrderedMap& operator=(OrderedMap other) noexcept {
    swap(other);
    return *this;
  }
  ~OrderedMap() = default;

  void swap(OrderedMap& other) noexcept {
    index_.swap(other.index_);
    std::swap(ends_, other.ends_);
    hold_ends();
    other.hold_ends();
  }
  friend void swap(OrderedMap& a, OrderedMap& b) noexcept { a.swap(b); }

  [[nodiscard]] bool empty() const { return index_.empty(); }
  [[nodiscard]] size_type size() const { return index_.size(); }
  [[nodiscard]] size_type max_size() const { return index_.max_size(); }
  iterator begin() { return iterator(ends_.after); }
  iterator end() { return iterator(&ends_); }
  const_iterator begin() const { return const_iterator(ends_.after); }
  const_iterator end() const { return const_iterator(&ends_); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }

  template <typename K>
  iterator find(const K& key) {
    return iterator(link_of(index_.find(key)));
  }
  template <typename K>
  const_iterator find(const K& key) const {
    return const_iterator(link_of(index_.find(key)));
  }
  template <typename K>
  size_type count(const K& key) const {
    return index_.count(key);
  }
  template <typename K>
  bool contains(const K& key) const {
    return index_.contains(key);
  }
  template <typename K>
  T& at(const K& key) {
    return found(find(key)).second;
  }
  template <typename K>
  const T& at(const K& key) const {
    return found(find(key)).second;
  }
  template <typename K>
  T& operator[](K&& key) {
    return try_emplace(std::forward<K>(key)).first->second;
  }

  // A new member goes to the end. If the key exists, its member keeps its value and its place.
  template <typename K, typename... Values>
  std::pair<iterator, bool> try_emplace(K&& key, Values&&... values) {
    if (const auto place = index_.find(key); place != index_.end())
      return {iterator(link_of(place)), false};
    Link* const link =
        link_of(index_.emplace(std::forward<K>(key), std::forward<Values>(values)...).first);
    link->after = &ends_;
    link->before = ends_.before;
    link->before->after = ends_.before = link;
    return {iterator(link), true};
  }
  template <typename K, typename V>
  std::pair<iterator, bool> emplace(K&& key, V&& value) {
    return try_emplace(std::forward<K>(key), std::forward<V>(value));
  }
  std::pair<iterator, bool> insert(const value_type& member) {
    return try_emplace(member.first, member.second);
  }
  std::pair<iterator, bool> insert(value_type&& member) {
    return try_emplace(member.first, std::move(member.second));
  }
  template <typename Input>
  void insert(Input first, Input last) {
    for (; first != last; ++first) try_emplace(first->first, first->second);
  }

  iterator erase(const_iterator at) {
    Link* const link = at.link_;
    const iterator next(link->after);
    link->before->after = link->after;
    link->after->before = link->before;
    index_.erase(index_.find(at->first));
    return next;
  }
  iterator erase(const_iterator first, const_iterator last) {
    while (first != last) first = erase(first);
    return iterator(last.link_);
  }
  template <typename K>
  requires(!std::is_convertible_v<const K&, const_iterator>) size_type erase(const K& key) {
    const const_iterator at = find(key);
    if (at == end()) return 0;
    erase(at);
    return 1;
  }
  void clear() noexcept {
    index_.clear();
    hold_ends();
  }

  // Two maps with the same members are equal in any order, as JSON objects are.
  friend bool operator==(const OrderedMap& a, const OrderedMap& b) {
    if (a.size() != b.size()) return false;
    for (const value_type& each : a) {
      const auto other = b.find(each.first);
      if (other == b.end() || each.second != other->second) return false;
    }
    return true;
  }
  friend std::partial_ordering operator<=>(const OrderedMap& a, const OrderedMap& b) {
    const auto ones = a.by_key(), others = b.by_key();
    for (size_type i = 0; i < ones.size() && i < others.size(); ++i)
      if (const auto order = *ones[i] <=> *others[i]; std::is_neq(order)) return order;
    return a.size() <=> b.size();
  }

 private:
  std::vector<const value_type*> by_key() const {
    std::vector<const value_type*> members;
    members.reserve(size());
    for (const value_type& each : *this) members.push_back(&each);
    std::sort(members.begin(), members.end(), [](const value_type* one, const value_type* other) {
      return one->first < other->first;
    });
    return members;
  }
  // A set shows its elements as const, because changing a key would change its place. The link and
  // the value are not part of the key.
  Link* link_of(typename Index::const_iterator at) const {
    return at == index_.end() ? &ends_ : const_cast<Node*>(&*at);
  }
  template <typename At>
  decltype(auto) found(At at) const {
    if (at == end()) throw std::out_of_range("the object has no such member");
    return *at;
  }
  // Points the first and the last member at this map's ends_, after the members came from another
  // map.
  void hold_ends() noexcept {
    if (index_.empty())
      ends_ = {&ends_, &ends_};
    else
      ends_.after->before = ends_.before->after = &ends_;
  }

  Index index_;
  // The place before the first member and after the last. end() points to it, also in a const map.
  mutable Link ends_{&ends_, &ends_};
};

}  // namespace brig
