// Toolbox: the tools of a sandbox. A tool is a name, a description, a schema and a callable; the schema is
// deduced from the callable's types, or given by hand.
//
//   brig::Toolbox tools;
//   tools.add("add", "Adds two integers.", {"a", "b"},
//             [](std::int64_t a, std::int64_t b) { return a + b; });
//
// Parameters and results: bool, integers (with their range), floating point, std::string, brig::Bytes
// (base64 in JSON), std::optional (not required), std::vector, std::map<std::string, T>, brig::Json
// (anything), and enums and structs that declare how they look: see BRIG_ENUM and BRIG_STRUCT.
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

// Thread-safe. All that is wrong with a tool throws Error(config) when it is added.
class Toolbox {
 public:
  Toolbox();
  Toolbox(Toolbox&&) noexcept;
  Toolbox& operator=(Toolbox&&) noexcept;
  ~Toolbox();

  template <typename Callable>
  Toolbox& add(std::string name, std::string description, std::vector<Parameter> parameters,
               Callable&& callable, ToolOptions options = {}) {
    return add(make_tool(std::move(name), std::move(description), std::move(parameters),
                         std::forward<Callable>(callable), std::move(options)));
  }
  // By hand.
  Toolbox& add(Tool tool);
  // As add, in place of the tool of that name, which must be there.
  Toolbox& replace(Tool tool);
  // False if there was none.
  bool remove(const std::string& name);

  // The tools that a shared library registers: it exports
  //   extern "C" void brig_register(brig::Toolbox& tools);
  // It is loaded by a Sandbox, in the jail, and never by this process. `policy`: for all of its tools.
  Toolbox& add_library(std::string path, std::optional<Policy> policy = {});
  struct Library {
    std::string path;
    std::optional<Policy> policy;
  };
  std::vector<Library> libraries() const;

  // The tools of Python modules: imported by a Sandbox, in the jail. `policy`: for all of them.
  // `maker`: see Tool; for all of them, too.
  Toolbox& add_python(Python python, std::optional<Policy> policy = {},
                      std::shared_ptr<const CallMaker> maker = nullptr);
  struct PythonModules {
    Python python;
    std::optional<Policy> policy;
    std::shared_ptr<const CallMaker> maker = nullptr;
  };
  std::vector<PythonModules> python_modules() const;

  // Of the tool of that name, if there is one.
  std::shared_ptr<const Tool> find(const std::string& name) const;
  // By name. `query`: those with it in their name or description, whatever the case.
  std::vector<std::shared_ptr<const Tool>> list(const std::string& query = "") const;

  // Called for every change from now on, in the thread that makes it, until the handle goes.
  using Listener = std::function<void(const ToolEvent&)>;
  [[nodiscard]] std::shared_ptr<void> listen(Listener listener);

  // A tool from a callable; for replace().
  template <typename Callable>
  static Tool make_tool(std::string name, std::string description,
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
// The schema of an object with these members; defaults are checked against theirs.
Json object_schema(const std::string& tool, const std::vector<Parameter>& parameters,
                   std::vector<Json> schemas, const std::vector<bool>& optional);

template <typename T>
T argument(Json& arguments, const Parameter& parameter) {
  const auto found = arguments.find(parameter.name);
  if (found != arguments.end()) return JsonTypeOf<T>::read(std::move(*found));
  if (parameter.default_value) return JsonTypeOf<T>::read(*parameter.default_value);
  return T{};  // optional: what is required is there
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
