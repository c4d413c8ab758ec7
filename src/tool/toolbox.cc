#include <brig/toolbox.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "base/error.h"
#include "base/text.h"
#include "json/schema.h"
#include "tool/tool_name.h"

namespace brig {
namespace {

std::shared_ptr<const Tool> checked(Tool tool) {
  if (!is_tool_name(tool.name))
    throw_error(ErrorKind::config, "tool {}: {}", in_quotes(tool.name), kToolNameRule);
  // A maker beside a function does not count.
  const bool has_maker = tool.maker && !tool.python;
  if (!tool.call + tool.argv.empty() + tool.library.empty() + !tool.python + !has_maker != 4)
    throw_error(ErrorKind::config,
                "tool '{}': give it exactly one thing to run: a callable, argv or a library",
                tool.name);
  if (!is_valid_utf8(tool.description))
    throw_error(ErrorKind::config, "tool '{}': its description is not UTF-8", tool.name);
  if (!tool.input_schema.is_object() || tool.input_schema.value("type", "") != "object")
    throw_error(ErrorKind::config, "tool '{}': its input schema must have \"type\": \"object\"",
                tool.name);
  const auto compile = [&](const char* which, const Json& schema) {
    try {
      const Schema compiled(schema);
    } catch (const Error& error) {
      throw_error(ErrorKind::config, "tool '{}': {} {}", tool.name, which, error.what());
    }
  };
  compile("input", tool.input_schema);
  if (tool.output_schema) compile("output", *tool.output_schema);
  if (tool.options.policy) validate(*tool.options.policy);
  return std::make_shared<const Tool>(std::move(tool));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

bool is_tool_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '-' || c == '.';
         });
}

bool matches(const Tool& tool, const std::string& query) {
  const std::string wanted = lower(query);
  return lower(tool.name).find(wanted) != std::string::npos ||
         lower(tool.description).find(wanted) != std::string::npos;
}

struct Toolbox::State {
  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Tool>> tools;
  std::vector<Library> libraries;
  std::vector<PythonModules> python_modules;
  std::vector<std::weak_ptr<Listener>> listeners;

  // Outside the lock, because a listener may look at the toolbox.
  void tell(ToolEvent::Kind kind, const std::string& name) {
    std::vector<std::shared_ptr<Listener>> alive;
    {
      const std::lock_guard lock(mutex);
      std::erase_if(listeners, [&](const std::weak_ptr<Listener>& each) {
        std::shared_ptr<Listener> listener = each.lock();
        if (listener) alive.push_back(std::move(listener));
        return each.expired();
      });
    }
    for (const auto& listener : alive) (*listener)({kind, name});
  }
};

Toolbox::Toolbox() : state_(std::make_shared<State>()) {}
Toolbox::Toolbox(Toolbox&&) noexcept = default;
Toolbox& Toolbox::operator=(Toolbox&&) noexcept = default;
Toolbox::~Toolbox() = default;

Toolbox& Toolbox::add(Tool tool) {
  const std::shared_ptr<const Tool> added = checked(std::move(tool));
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->tools.emplace(added->name, added).second)
      throw_error(ErrorKind::config, "tool '{}': a tool of that name exists; use replace()",
                  added->name);
  }
  state_->tell(ToolEvent::Kind::added, added->name);
  return *this;
}

Toolbox& Toolbox::replace(Tool tool) {
  const std::shared_ptr<const Tool> added = checked(std::move(tool));
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->tools.find(added->name);
    if (found == state_->tools.end())
      throw_error(ErrorKind::config, "tool '{}': no tool has that name; use add()", added->name);
    found->second = added;
  }
  state_->tell(ToolEvent::Kind::updated, added->name);
  return *this;
}

bool Toolbox::remove(const std::string& name) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->tools.erase(name) == 0) return false;
  }
  state_->tell(ToolEvent::Kind::removed, name);
  return true;
}

Toolbox& Toolbox::add_library(std::string path, std::optional<Policy> policy) {
  if (policy) validate(*policy);
  const std::lock_guard lock(state_->mutex);
  state_->libraries.push_back({std::move(path), std::move(policy)});
  return *this;
}

std::vector<Toolbox::Library> Toolbox::libraries() const {
  const std::lock_guard lock(state_->mutex);
  return state_->libraries;
}

Toolbox& Toolbox::add_python(Python python, std::optional<Policy> policy,
                             std::shared_ptr<const CallMaker> maker) {
  if (policy) validate(*policy);
  const std::lock_guard lock(state_->mutex);
  state_->python_modules.push_back({std::move(python), std::move(policy), std::move(maker)});
  return *this;
}

std::vector<Toolbox::PythonModules> Toolbox::python_modules() const {
  const std::lock_guard lock(state_->mutex);
  return state_->python_modules;
}

std::shared_ptr<const Tool> Toolbox::find(const std::string& name) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->tools.find(name);
  return found == state_->tools.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const Tool>> Toolbox::list(const std::string& query) const {
  std::vector<std::shared_ptr<const Tool>> result;
  const std::lock_guard lock(state_->mutex);
  for (const auto& [name, tool] : state_->tools)
    if (matches(*tool, query)) result.push_back(tool);
  return result;
}

std::shared_ptr<void> Toolbox::listen(Listener listener) {
  auto handle = std::make_shared<Listener>(std::move(listener));
  const std::lock_guard lock(state_->mutex);
  state_->listeners.push_back(handle);
  return handle;
}

namespace detail {

void require_names(const std::string& tool, std::size_t names, std::size_t parameters) {
  if (names != parameters)
    throw_error(ErrorKind::config, "tool {}: {} parameter names for a callable that takes {}",
                in_quotes(tool), names, parameters);
}

Json object_schema(const std::string& tool, const std::vector<Parameter>& parameters,
                   std::vector<Json> schemas, const std::vector<bool>& optional) {
  Json result{{"type", "object"},
              {"properties", Json::object()},
              {"required", Json::array()},
              {"additionalProperties", false}};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const auto refuse = [&](const std::string& why) {
      throw_error(ErrorKind::config, "tool {}: parameter {}: {}", in_quotes(tool),
                  in_quotes(parameter.name), why);
    };
    if (parameter.name.empty() || !is_valid_utf8(parameter.name))
      refuse("its name is empty or not UTF-8");
    if (result["properties"].contains(parameter.name))
      refuse("another parameter has the same name");
    Json& schema = schemas[i];
    if (parameter.default_value) {
      const auto faults = Schema(schema).check(*parameter.default_value);
      if (!faults.empty())
        refuse("its default does not fit its type: expected " + faults[0].expected);
      schema["default"] = *parameter.default_value;
    } else if (!optional[i]) {
      result["required"].push_back(parameter.name);
    }
    if (!parameter.description.empty()) schema["description"] = parameter.description;
    result["properties"][parameter.name] = std::move(schema);
  }
  return result;
}

std::string to_base64(const Bytes& bytes) {
  return base64(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Bytes from_base64(const std::string& text) {
  const std::optional<std::string> bytes = base64_decoded(text);
  if (!bytes) throw std::invalid_argument("not base64");
  const auto* data = reinterpret_cast<const std::byte*>(bytes->data());
  return Bytes(data, data + bytes->size());
}

}  // namespace detail
}  // namespace brig
