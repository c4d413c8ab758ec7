// The tools of a Sandbox: their schemas, and a zygote for each policy and runtime.
#include <algorithm>
#include <set>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "policy/listed_path.h"
#include "sandbox/sandbox_impl.h"
#include "tool/library.h"
#include "tool/python.h"

namespace brig {
namespace {

constexpr const char* kFunction = "function";

// Adds plain paths to a list of a policy.
void list_paths(std::vector<std::string>& list, const std::vector<std::string>& more) {
  for (const std::string& each : more)
    if (const std::string text = listed_text(each);
        std::find(list.begin(), list.end(), text) == list.end())
      list.push_back(text);
}

void add_missing(std::vector<std::string>& list, const std::vector<std::string>& more) {
  for (const std::string& each : more)
    if (std::find(list.begin(), list.end(), each) == list.end()) list.push_back(each);
}

// The tool, if a Toolbox accepts it; throws Error otherwise.
std::shared_ptr<const Tool> checked(Tool tool) {
  const std::string name = tool.name;
  Toolbox box;
  box.add(std::move(tool));
  return box.find(name);
}

std::set<std::string> parameters_of(const Tool& tool) {
  std::set<std::string> names;
  if (const auto found = tool.input_schema.find("properties");
      found != tool.input_schema.end() && found->is_object())
    for (const auto& [name, ignored] : found->items()) names.insert(name);
  return names;
}

// The defaults of a command's parameters. A function has its own defaults.
Json defaults_of(const Tool& tool) {
  Json defaults = Json::object();
  for (const std::string& name : parameters_of(tool)) {
    const Json& schema = tool.input_schema["properties"][name];
    if (schema.is_object() && schema.contains("default")) defaults[name] = schema["default"];
  }
  return defaults;
}

}  // namespace

std::shared_ptr<Warden> Sandbox::Impl::warden_for(const Tool& tool, Policy policy) {
  const LoadedLibrary* library = tool.library.empty() ? nullptr : &libraries_.at(tool.library);
  const std::string runtime = tool.call     ? kFunction
                              : tool.python ? tool.python->key
                              : library     ? library->key
                              : tool.maker  ? "command, then a look"
                                            : "command";
  Origin origin;
  origin.shows_workspace = tool.maker != nullptr;
  if (tool.call) origin.host_copy = host_copy_;
  if (library) {
    policy.files.read.push_back(listed_text(tool.library));
    origin.loader = loader_image();
    origin.payload = library->payload;
  }
  if (tool.python) {
    list_paths(policy.files.read, tool.python->read);
    origin.payload = tool.python->payload;
  }
  // A Sandbox asks for a cgroup in any case.
  policy.limits.named = false;
  const ZygoteKey key{runtime, std::move(policy)};
  const auto found = std::find_if(wardens_.begin(), wardens_.end(),
                                  [&](const auto& each) { return each.first == key; });
  if (found != wardens_.end()) return found->second;
  const RunnerOptions options{.ready = options_.ready_min,
                              .ready_max = options_.ready_max,
                              .max_cells = options_.concurrency,
                              .max_queue = options_.concurrency};
  std::shared_ptr<Warden> warden(new Warden(key.policy, options, origin), [](Warden* gone) {
    // The last call of a retired one may end on its own thread, which can't wait for itself.
    if (gone->is_own_thread())
      std::thread([gone] { delete gone; }).detach();
    else
      delete gone;
  });
  wardens_.emplace_back(key, warden);
  return warden;
}

std::shared_ptr<const PreparedTool> Sandbox::Impl::prepare(
    const std::shared_ptr<const Tool>& tool) {
  const Policy& policy = tool->options.policy ? *tool->options.policy : policy_;
  PreparedTool made{tool,
                    Schema(tool->input_schema),
                    std::nullopt,
                    std::nullopt,
                    warden_for(*tool, policy),
                    policy.limits,
                    policy.environment.unset};
  if (tool->output_schema) made.output.emplace(*tool->output_schema);
  if (!tool->argv.empty())
    made.command.emplace(tool->argv, parameters_of(*tool), defaults_of(*tool));
  return std::make_shared<const PreparedTool>(std::move(made));
}

// Replaces all tools. Zygotes that still fit are kept; the others go when their last call has
// ended. If this throws, the old tools stay.
void Sandbox::Impl::install(Tools tools) {
  const auto functions = std::make_shared<Functions>();
  for (const auto& [name, tool] : tools)
    if (tool->call) functions->emplace(name, tool);
  const auto old_nursery = host_copy_;
  const auto old_wardens = wardens_;
  try {
    const auto is_known = [&](const auto& each) {
      const auto found = functions_ ? functions_->find(each.first) : functions->end();
      return functions_ && found != functions_->end() && found->second == each.second;
    };
    if (std::all_of(functions->begin(), functions->end(), is_known)) {
      // All functions of the copy, used or not.
      if (functions_) *functions = *functions_;
    } else {
      // The copy is made before anything here starts a thread.
      host_copy_ = std::make_shared<HostCopy>([&] { serve_functions(*functions); });
      std::erase_if(wardens_, [](const auto& each) { return each.first.runtime == kFunction; });
    }
    std::map<std::string, std::shared_ptr<const PreparedTool>> prepared;
    std::set<std::shared_ptr<Warden>> used;
    for (const auto& [name, tool] : tools) {
      const auto made = prepare(tool);
      prepared.emplace(name, made);
      used.insert(made->warden);
    }
    std::erase_if(wardens_, [&](const auto& each) { return !used.contains(each.second); });
    functions_ = functions;
    tools_ = std::move(tools);
    const std::lock_guard lock(mutex_);
    prepared_.swap(prepared);
  } catch (...) {
    host_copy_ = old_nursery;
    wardens_ = old_wardens;
    throw;
  }
}

// The tools of a library or a module are known once a zygote has loaded it. That zygote stays, for
// their calls.
void Sandbox::Impl::load(const Tool& any, const std::string& title, Tools& tools) {
  const auto warden = warden_for(any, any.options.policy ? *any.options.policy : policy_);
  for (Tool& tool : tools_of(warden->catalog(), any, title)) {
    if (tool.maker && tool.maker->adapt) tool.maker->adapt(tool);
    const auto added = checked(std::move(tool));
    if (!tools.emplace(added->name, added).second)
      throw_error(ErrorKind::config, "{}: another tool is already called '{}'", title, added->name);
  }
}

// Loads the libraries and modules of a toolbox, and installs all of its tools.
void Sandbox::Impl::load_all(const Toolbox& toolbox) {
  Tools all;
  std::vector<std::string> sources;
  bool functions = false;
  for (const auto& tool : toolbox.list()) {
    all.emplace(tool->name, tool);
    functions |= static_cast<bool>(tool->call);
  }
  // First, since this must fork; the other tools can be called meanwhile.
  if (functions) {
    Tools first = all;
    first.insert(tools_.begin(), tools_.end());
    install(std::move(first));
  }
  for (const Toolbox::Library& library : toolbox.libraries()) {
    Tool any;
    any.library = library_path(library.path);
    libraries_[any.library] = load_library(any.library);
    sources.push_back(library.path);
    any.options.policy = library.policy;
    load(any, "library " + in_quotes(any.library), all);
  }
  for (const Toolbox::PythonModules& modules : toolbox.python_modules()) {
    Tool any;
    any.python = python_runtime(modules.python);
    any.maker = modules.maker;
    add_missing(sources, python_sources(modules.python));
    any.options.policy = modules.policy;
    load(any, any.python->payload->title, all);
  }
  install(std::move(all));
  std::erase_if(libraries_, [&](const auto& each) {
    return std::none_of(tools_.begin(), tools_.end(),
                        [&](const auto& tool) { return tool.second->library == each.first; });
  });
  for (const auto& [key, warden] : wardens_) add_missing(sources, files_of(warden->catalog()));
  const std::lock_guard lock(mutex_);
  sources_ = std::move(sources);
}

void Sandbox::Impl::set_policy(Policy policy) {
  const std::lock_guard lock(changing_);
  validate(policy);
  std::swap(policy_, policy);
  try {
    install(tools_);
  } catch (...) {
    std::swap(policy_, policy);
    throw;
  }
}

namespace {

Event tool_event(Event::Kind kind, const std::string& name) {
  Event event;
  event.kind = kind;
  event.tool = name;
  return event;
}

}  // namespace

void Sandbox::add(Tool tool) {
  const auto added = checked(std::move(tool));
  const std::lock_guard lock(impl_->changing_);
  auto tools = impl_->tools_;
  if (!tools.emplace(added->name, added).second)
    throw_error(ErrorKind::config, "tool '{}' already exists; use replace()", added->name);
  impl_->install(std::move(tools));
  impl_->watchers_.publish(tool_event(Event::Kind::tool_added, added->name));
}

void Sandbox::replace(Tool tool) {
  const auto added = checked(std::move(tool));
  const std::lock_guard lock(impl_->changing_);
  auto tools = impl_->tools_;
  const auto found = tools.find(added->name);
  if (found == tools.end())
    throw_error(ErrorKind::config, "tool '{}' does not exist; use add()", added->name);
  found->second = added;
  impl_->install(std::move(tools));
  impl_->watchers_.publish(tool_event(Event::Kind::tool_updated, added->name));
}

bool Sandbox::remove(const std::string& name) {
  const std::lock_guard lock(impl_->changing_);
  const auto found = impl_->tools_.find(name);
  if (found == impl_->tools_.end()) return false;
  // The copy of this process that runs its functions need not be made anew: nothing calls the
  // function there.
  impl_->tools_.erase(found);
  std::set<std::shared_ptr<Warden>> used;
  {
    const std::lock_guard calls(impl_->mutex_);
    impl_->prepared_.erase(name);
    for (const auto& [ignored, prepared] : impl_->prepared_) used.insert(prepared->warden);
  }
  std::erase_if(impl_->wardens_, [&](const auto& each) { return !used.contains(each.second); });
  impl_->watchers_.publish(tool_event(Event::Kind::tool_removed, name));
  return true;
}

namespace {

// Whether clients see no difference. What a function does can't be compared.
bool is_same(const Tool& a, const Tool& b) {
  const auto published = [](const Tool& tool) {
    const ToolAnnotations& is = tool.options.annotations;
    return std::tie(tool.description, tool.input_schema, tool.output_schema, tool.argv,
                    is.read_only, is.destructive, is.idempotent, is.open_world);
  };
  return published(a) == published(b);
}

}  // namespace

void Sandbox::set_tools(const Toolbox& tools) {
  const std::lock_guard lock(impl_->changing_);
  const Impl::Tools before = impl_->tools_;
  const auto libraries = impl_->libraries_;
  try {
    impl_->load_all(tools);
  } catch (...) {
    impl_->libraries_ = libraries;
    impl_->install(before);
    throw;
  }
  for (const auto& [name, tool] : before)
    if (!impl_->tools_.contains(name))
      impl_->watchers_.publish(tool_event(Event::Kind::tool_removed, name));
  for (const auto& [name, tool] : impl_->tools_) {
    const auto old = before.find(name);
    if (old == before.end())
      impl_->watchers_.publish(tool_event(Event::Kind::tool_added, name));
    else if (!is_same(*old->second, *tool))
      impl_->watchers_.publish(tool_event(Event::Kind::tool_updated, name));
  }
}

}  // namespace brig
