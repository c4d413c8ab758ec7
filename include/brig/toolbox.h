// Toolbox: the tools of a sandbox. A tool is a name, a description, a schema and a callable. brig
// deduces the schema from the callable's types, or you write it by hand.
//
//   brig::Toolbox tools;
//   tools.add("add", "Adds two integers.", {"a", "b"},
//             [](std::int64_t a, std::int64_t b) { return a + b; });
//
// Parameters and results may be bool, integers (with their range), floating point, std::string,
// brig::Bytes (base64 in JSON), std::optional (not required), std::vector, std::map<std::string,
// T>, brig::Json (anything), and enums and structs declared with BRIG_ENUM and BRIG_STRUCT.
#pragma once

#include <brig/json_struct.h>
#include <brig/python.h>
#include <brig/tool.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace brig {

struct ToolEvent {
  enum class Kind { added, removed, updated } kind;
  std::string name;
};

// Thread-safe. A mistake in a tool throws Error(config) when the tool is added; then the toolbox is
// as it was. A moved-from Toolbox may only be destroyed or assigned to.
class Toolbox {
 public:
  Toolbox();
  Toolbox(Toolbox&&) noexcept;
  Toolbox& operator=(Toolbox&&) noexcept;
  ~Toolbox();

  // Adds a tool whose schema is deduced from the callable. `parameters` names each of the
  // callable's parameters, in order. Throws if there is a tool of that name.
  template <typename Callable>
  Toolbox& add(std::string name, std::string description, std::vector<Parameter> parameters,
               Callable&& callable, ToolOptions options = {}) {
    return add(make_tool(std::move(name), std::move(description), std::move(parameters),
                         std::forward<Callable>(callable), std::move(options)));
  }
  // Adds a tool made by hand.
  Toolbox& add(Tool tool);
  // Replaces the tool of that name. Throws if there is no such tool.
  Toolbox& replace(Tool tool);
  // Removes a tool. False if there is no such tool; that is not an error.
  bool remove(const std::string& name);

  // Adds the tools that a shared library registers. The library exports
  //   extern "C" void brig_register(brig::Toolbox& tools);
  // Only a Sandbox loads it, in the jail; this process never does. A library that can't be loaded
  // is therefore an Error of the Sandbox. `policy` holds for all of its tools; unset: the
  // Sandbox's.
  Toolbox& add_library(std::string path, std::optional<Policy> policy = {});
  struct Library {
    std::string path;
    std::optional<Policy> policy;
  };
  [[nodiscard]] std::vector<Library> libraries() const;

  // Adds the tools of Python modules. Only a Sandbox imports them, in the jail. `policy` and
  // `maker` (see Tool) hold for all of these tools.
  Toolbox& add_python(Python python, std::optional<Policy> policy = {},
                      std::shared_ptr<const CallMaker> maker = nullptr);
  struct PythonModules {
    Python python;
    std::optional<Policy> policy;
    std::shared_ptr<const CallMaker> maker = nullptr;
  };
  [[nodiscard]] std::vector<PythonModules> python_modules() const;

  // The tool called `name`, or null. Tools of libraries and modules are not here: a Sandbox knows
  // them, when it has loaded them.
  [[nodiscard]] std::shared_ptr<const Tool> find(const std::string& name) const;
  // The tools, sorted by name. With a `query`, those that matches() finds.
  [[nodiscard]] std::vector<std::shared_ptr<const Tool>> list(const std::string& query = "") const;

  // Calls the listener for every change from now on, on the thread that makes the change, until the
  // handle is destroyed. The listener may use the toolbox.
  using Listener = std::function<void(const ToolEvent&)>;
  [[nodiscard]] std::shared_ptr<void> listen(Listener listener);

  // Makes a tool from a callable without adding it; for replace().
  template <typename Callable>
  [[nodiscard]] static Tool make_tool(std::string name, std::string description,
                                      std::vector<Parameter> parameters, Callable&& callable,
                                      ToolOptions options = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

namespace detail {

// The parameter types of a callable.
template <typename T>
struct CallableTraits : CallableTraits<decltype(&T::operator())> {};
template <typename R, typename... Args>
struct CallableTraits<R (*)(Args...)> {
  using Result = R;
  using Arguments = std::tuple<std::remove_cvref_t<Args>...>;
};
template <typename C, typename R, typename... Args>
struct CallableTraits<R (C::*)(Args...) const> : CallableTraits<R (*)(Args...)> {};
template <typename C, typename R, typename... Args>
struct CallableTraits<R (C::*)(Args...)> : CallableTraits<R (*)(Args...)> {};

// Throws Error(config) unless there is a name for each parameter.
void require_names(const std::string& tool, std::size_t names, std::size_t parameters);
// The schema of an object with these members. Throws Error(config) for a default that does not fit.
Json object_schema(const std::string& tool, const std::vector<Parameter>& parameters,
                   std::vector<Json> schemas, const std::vector<bool>& optional);

template <typename T>
T argument(Json& arguments, const Parameter& parameter) {
  const auto found = arguments.find(parameter.name);
  if (found != arguments.end()) return JsonTypeOf<T>::read(std::move(*found));
  if (parameter.default_value) return JsonTypeOf<T>::read(*parameter.default_value);
  // An optional one: the schema has made sure that every required one is there.
  return T{};
}

}  // namespace detail

template <typename Callable>
Tool Toolbox::make_tool(std::string name, std::string description,
                        std::vector<Parameter> parameters, Callable&& callable,
                        ToolOptions options) {
  using Traits = detail::CallableTraits<std::decay_t<Callable>>;
  using Arguments = typename Traits::Arguments;
  using Result = std::remove_cvref_t<typename Traits::Result>;
  constexpr std::size_t kCount = std::tuple_size_v<Arguments>;
  detail::require_names(name, parameters.size(), kCount);
  Tool tool;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    tool.input_schema = detail::object_schema(
        name, parameters, {JsonTypeOf<std::tuple_element_t<I, Arguments>>::schema()...},
        {JsonTypeOf<std::tuple_element_t<I, Arguments>>::kOptional...});
  }
  (std::make_index_sequence<kCount>());
  if constexpr (!std::is_void_v<Result>) tool.output_schema = JsonTypeOf<Result>::schema();
  tool.name = std::move(name);
  tool.description = std::move(description);
  tool.options = std::move(options);
  tool.call = [parameters = std::move(parameters),
               function = std::forward<Callable>(callable)](Json arguments) mutable -> Json {
    return [&]<std::size_t... I>(std::index_sequence<I...>)->Json {
      if constexpr (std::is_void_v<Result>) {
        function(detail::argument<std::tuple_element_t<I, Arguments>>(arguments, parameters[I])...);
        return nullptr;
      } else {
        return JsonTypeOf<Result>::write(function(
            detail::argument<std::tuple_element_t<I, Arguments>>(arguments, parameters[I])...));
      }
    }
    (std::make_index_sequence<kCount>());
  };
  return tool;
}

}  // namespace brig
