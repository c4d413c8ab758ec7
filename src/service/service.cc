#include "service/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time_text.h"
#include "json/json_line.h"
#include "json/json_text.h"
#include "service/event_json.h"
#include "service/left_files.h"
#include "service/manifest_watch.h"
#include "tool/python.h"
#include "tool/tool_formats.h"

namespace brig::serve {
namespace {

constexpr std::size_t kWatchBuffer = 2048, kMostAtOnce = std::size_t{1} << 20, kLongestId = 128;
constexpr std::size_t kLongestWord = 100,
                      kLongestPath = 200;  // of what a client made up, in a line of the audit log
// Bytes: arguments in a line of the audit log, and in an event; what is kept of a call that has
// ended.
constexpr std::size_t kMostInAudit = 64 * 1024, kMostInEvents = 4 * 1024,
                      kMostOutputKept = 2 * 1024, kMostOfACall = 16 * 1024;
constexpr int kMostViolationsKept = 20;

bool is_call_id(std::string_view id) {
  return id.size() <= kLongestId &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 127; });
}

std::string hash_of(const Json& arguments) {
  std::string fault;
  return hex_of(sha256(json_text(arguments, fault).value_or("")));
}

template <typename Value>
std::shared_ptr<void> listed(const std::shared_ptr<std::list<Value>>& list, Value value) {
  list->push_front(std::move(value));
  return {nullptr, [weak = std::weak_ptr(list), entry = list->begin()](void*) {
            const auto held = weak.lock();
            if (!held) return;
            const Value gone = std::move(*entry);  // what it holds may have handles of its own
            held->erase(entry);
          }};
}

// Any may go while they are called: those that there were at the beginning hear of it.
template <typename Value, typename... Arguments>
void call_all(const std::shared_ptr<std::list<Value>>& list, const Arguments&... arguments) {
  const std::list<Value> all = *list;
  for (const Value& each : all) each(arguments...);
}

}  // namespace

Service::Service(Loop& loop, ServiceOptions options, Builtins builtins)
    : loop_(loop),
      options_(std::move(options)),
      audit_(options_.audit),
      refusals_(loop, [this](const Json& line) { audit_.write(json_line(line)); }),
      subscribers_(std::make_shared<std::list<Subscriber>>()),
      on_tools_(std::make_shared<std::list<std::function<void()>>>()),
      give_back_(loop),
      worker_(std::make_unique<Worker>()) {
  concurrency_ = options_.sandbox.concurrency
                     ? options_.sandbox.concurrency
                     : 2 * std::max(1u, std::thread::hardware_concurrency());
  if (builtins.sandbox) builtins_ = serve(std::move(builtins.sandbox), builtins.policy);
  loaded_ = ManifestWatch::now();
  if (has_manifest()) {
    if (builtins_)
      preloaded_ = preload_of(options_.preload, manifest_from_toml_file(options_.manifest).preload);
    Policy policy;
    auto sandbox =
        make_sandbox(options_.manifest, builtins_ ? builtins_->sandbox.get() : nullptr, policy);
    tools_ = serve(std::move(sandbox), std::move(policy));
  }
}

Service::~Service() {
  handover_.close();
  worker_.reset();  // a reload that is under way needs all the rest
  for (const auto& served : {builtins_, tools_})
    if (served) served->readable.reset();
}

std::shared_ptr<Sandbox> Service::make_sandbox(const std::string& path, const Sandbox* beside,
                                               Policy& policy) const {
  Manifest manifest = manifest_from_toml_file(path);
  policy = manifest.policy;
  SandboxOptions options = options_.sandbox;
  options.beside = beside;
  auto made = std::make_shared<Sandbox>(std::move(manifest.tools), manifest.policy, options);
  for (const auto& tool : made->list_tools())
    if (builtins_ && is_builtin(tool->name))
      throw_error(ErrorKind::config, "{}: '{}' is the name of a built-in tool", path, tool->name);
  return made;
}

std::shared_ptr<Service::ServedSandbox> Service::serve(std::shared_ptr<Sandbox> sandbox,
                                                       Policy policy) {
  auto served = std::make_shared<ServedSandbox>();
  served->policy = std::move(policy);
  served->sandbox = std::move(sandbox);
  for (const auto& tool : served->sandbox->list_tools()) served->tools.emplace(tool->name, tool);
  served->watch = served->sandbox->watch(kWatchBuffer);
  served->readable = loop_.when_readable(served->watch->descriptor(),
                                         [this, raw = served.get()] { read_events(*raw, false); });
  return served;
}

std::vector<std::shared_ptr<const Tool>> Service::tools(const Caller& caller,
                                                        const std::string& query) const {
  std::vector<std::shared_ptr<const Tool>> list;
  for (const auto& served : {builtins_, tools_})
    if (served)
      for (const auto& [name, tool] : served->tools)
        if (caller.may_call(name) && matches(*tool, query)) list.push_back(tool);
  std::sort(list.begin(), list.end(),
            [](const auto& a, const auto& b) { return a->name < b->name; });
  return list;
}

std::size_t Service::tool_count(const Caller& caller) const {
  std::size_t count = 0;
  for (const auto& served : {builtins_, tools_})
    if (served)
      for (const auto& [name, tool] : served->tools) count += caller.may_call(name);
  return count;
}

std::shared_ptr<const Tool> Service::find(const std::string& name, const Caller& caller) const {
  if (!caller.may_call(name)) return nullptr;
  for (const auto& served : {builtins_, tools_})
    if (served)
      if (const auto found = served->tools.find(name); found != served->tools.end())
        return found->second;
  return nullptr;
}

std::shared_ptr<Service::ServedSandbox> Service::sandbox_with(const std::string& tool) const {
  return builtins_ && is_builtin(tool) ? builtins_ : tools_ ? tools_ : builtins_;
}

Policy Service::policy_of(const Tool& tool) const {
  return tool.options.policy ? *tool.options.policy : sandbox_with(tool.name)->policy;
}

std::optional<Refusal> Service::refusal_of(const CallRequest& request) {
  if (draining_)
    return Refusal{503, "draining", "the server is stopping; try another, or again later",
                   std::chrono::seconds(5)};
  if (!is_call_id(request.call_id))
    return Refusal{422, "invalid-arguments", "call_id: up to 128 printable ASCII characters"};
  Caller& caller = *request.caller;
  if (named_.contains({&caller, request.call_id}))
    return Refusal{409, "call-exists",
                   "a call of yours with this call_id has not ended; use another call_id"};
  if (!caller.may_call(request.tool))
    return Refusal{403, "not-allowed",
                   fmt::format("'{}' may not call {}", caller.name, in_quotes(request.tool))};
  if (caller.concurrency && caller.running >= caller.concurrency)
    return Refusal{429, "too-many-calls",
                   fmt::format("'{}' may make {} calls at once", caller.name, caller.concurrency),
                   std::chrono::seconds(1)};
  if (const auto wait = caller.must_wait(std::chrono::steady_clock::now()))
    return Refusal{429, "rate-limited",
                   fmt::format("'{}' may make {} calls per second", caller.name, caller.rate),
                   wait};
  if (!find(request.tool, caller))
    return Refusal{404, "unknown-tool",
                   "unknown tool: " + in_quotes(request.tool.substr(0, kLongestWord))};
  return {};
}

Json Service::line_of(const char* event, const CallRequest& request) {
  Json line{{"event", event},
            {"at", time_text(std::chrono::system_clock::now())},
            {"call_id", request.call_id.substr(0, kLongestId)},
            {"caller", request.caller->name},
            {"peer", request.peer},
            {"via", request.via},
            {"tool", request.tool.substr(0, kLongestWord)}};
  if (request.call_id.empty()) line.erase("call_id");
  return line;
}

// What is left of a call that ends with the server.
std::string Service::start_line(const CallRequest& request, const std::string& hash) const {
  Json line = line_of("start", request);
  line["arguments_sha256"] = hash;
  if (Json shown = shown_arguments(request.arguments, options_.arguments, kMostInAudit);
      !shown.is_null())
    line["arguments"] = std::move(shown);
  line["span"] = {{"trace_id", request.trace.trace_id}, {"span_id", request.trace.span_id}};
  if (!request.trace.parent_id.empty()) line["span"]["parent_id"] = request.trace.parent_id;
  return json_line(line);
}

void Service::refused(const CallRequest& request, Refusal& refusal) {
  metrics_.refused(refusal.name);
  Json line = line_of("refused", request);
  line["status"] = refusal.status;
  line["why"] = refusal.name;
  refusals_.note(request.caller->name, request.peer, line);
  refusal.noted = true;
}

void Service::refused(const Answered& answer) {
  if (answer.noted || !answer.request) return;
  switch (answer.status) {
    case 401:
    case 403:
    case 404:
    case 409:
    case 415:
    case 422:
    case 429:
    case 503: break;
    default: return;
  }
  const Request& request = *answer.request;
  // A name that is known: why something was refused is not the client's to word.
  if (!answer.problem.empty()) metrics_.refused(std::string(answer.problem).c_str());
  Json line{{"event", "refused"},
            {"at", time_text(std::chrono::system_clock::now())},
            {"peer", request.peer},
            {"via", "http"},
            {"method", request.method.substr(0, kLongestWord)},
            {"path", request.path.substr(0, kLongestPath)},
            {"status", answer.status}};
  if (answer.caller) line["caller"] = answer.caller->name;
  if (!answer.problem.empty()) line["why"] = std::string(answer.problem);
  refusals_.note(answer.caller ? answer.caller->name : "", request.peer, line);
}

std::string Service::new_id(const Caller& caller) const {
  std::string id;
  do id = "c" + random_hex(16);
  while (named_.contains({&caller, id}));
  return id;
}

std::variant<AcceptedCall, Refusal> Service::start(CallRequest request, CallObserver observer) {
  auto refusal = refusal_of(request);
  const std::string hash = refusal ? "" : hash_of(request.arguments);
  if (!refusal) {
    if (request.call_id.empty()) request.call_id = new_id(*request.caller);
    // A call that would leave no trace is not made.
    if (!audit_.works() || !audit_.write(start_line(request, hash)))
      refusal =
          Refusal{503, "no-audit", "the audit log can't be written, and no call is made without it",
                  std::chrono::seconds(5)};
  }
  if (refusal) {
    refused(request, *refusal);
    return std::move(*refusal);
  }
  std::string id = std::move(request.call_id);
  const std::uint64_t number = next_number_++;
  named_[{request.caller.get(), id}] = number;
  ActiveCall& call = active_[number];
  call.summary = {id,
                  request.tool,
                  request.caller->name,
                  false,
                  std::chrono::system_clock::now(),
                  shown_arguments(request.arguments, options_.arguments, kMostInEvents)};
  call.served = sandbox_with(request.tool);
  call.caller = request.caller;
  call.observer = std::move(observer);
  call.trace = std::move(request.trace);
  call.peer = std::move(request.peer);
  call.via = std::move(request.via);
  call.arguments_hash = hash;
  ++call.caller->running;
  CallOptions options;
  options.call_id = std::to_string(number);
  if (!call.caller->alone) {
    options.caller = call.caller->name;
    options.shares = true;
  }
  options.limits = request.limits;
  const auto on_done = [this, number](ToolResult result) {
    // On a thread of the sandbox's.
    auto held = std::make_shared<ToolResult>(std::move(result));
    auto turn = Handover::is_for(held->output) ? handover_.begin() : nullptr;
    loop_.post([this, number, held, turn] { end(number, std::move(*held)); });
  };
  try {
    call.served->sandbox->call_async(request.tool, std::move(request.arguments), std::move(options),
                                     on_done);
  } catch (const std::exception& error) {
    // No memory, say. It was taken, so it ends as every call does.
    ToolResult failed;
    failed.report.outcome = Outcome::internal;
    failed.report.message = failed.error = error.what();
    on_done(std::move(failed));
  }
  return AcceptedCall{number, std::move(id)};
}

bool Service::cancel(std::uint64_t number, bool at_once) {
  const auto found = active_.find(number);
  return found != active_.end() &&
         found->second.served->sandbox->cancel(std::to_string(number), at_once);
}

Service::Cancelled Service::cancel(const std::string& call_id, const Caller& caller,
                                   const std::string& of) {
  std::vector<std::uint64_t> such;
  const auto own = named_.find({&caller, call_id});
  if (own != named_.end() && (of.empty() || of == caller.name))
    such.push_back(own->second);
  else if (caller.admin)
    for (const auto& [number, call] : active_)
      if (call.summary.call_id == call_id && (of.empty() || of == call.summary.caller))
        such.push_back(number);
  if (such.size() > 1) return Cancelled::several;
  return !such.empty() && cancel(such[0]) ? Cancelled::yes : Cancelled::none;
}

void Service::cancel_all(const Caller* only) {
  for (const auto& [number, call] : active_)
    if (!only || call.caller.get() == only) cancel(number, true);
}

std::vector<CallSummary> Service::calls(const Caller& caller) const {
  std::vector<CallSummary> list;
  for (const auto& [id, call] : active_)
    if (caller.admin || call.caller.get() == &caller) list.push_back(call.summary);
  std::sort(list.begin(), list.end(),
            [](const CallSummary& a, const CallSummary& b) { return a.since < b.since; });
  return list;
}

// `all`: all that a watch can hold. Otherwise so much that a flood of output does not keep
// everything else waiting; the rest comes next.
void Service::read_events(ServedSandbox& served, bool all) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kWatchBuffer && (all || bytes < kMostAtOnce); ++i) {
    auto event = served.watch->next(std::chrono::milliseconds(0));
    if (!event) return;
    bytes += event->text.size();
    receive(std::move(*event));
  }
}

void Service::receive(Event event) {
  if (event.dropped > 0) {
    Event lost;
    lost.kind = Event::Kind::lost;
    lost.dropped = event.dropped;
    for (auto& [id, call] : active_)
      if (call.observer.on_event) call.observer.on_event(lost);
    publish("lost", nullptr, "", {{"dropped", event.dropped}});
  }
  switch (event.kind) {
    case Event::Kind::lost:
    case Event::Kind::finished:  // told at the end, with more
    case Event::Kind::tool_added:
    case Event::Kind::tool_removed:
    case Event::Kind::tool_updated: return;
    default: break;
  }
  std::uint64_t number = 0;
  std::from_chars(event.call_id.data(), event.call_id.data() + event.call_id.size(), number);
  const auto found = active_.find(number);
  if (found == active_.end()) return;
  ActiveCall& call = found->second;
  event.call_id = call.summary.call_id;
  if (event.kind == Event::Kind::started) call.summary.running = true;
  if (call.observer.on_event) call.observer.on_event(event);
  if (subscribers_->empty()) return;
  Json data = data_of(event);
  if (event.kind == Event::Kind::queued && !call.summary.arguments.is_null())
    data["arguments"] = call.summary.arguments;
  publish(to_string(event.kind), &call, event.tool, std::move(data));
}

void Service::end(std::uint64_t number, ToolResult result) {
  const auto found = active_.find(number);
  if (found == active_.end()) return;
  // What it wrote and told before it ended comes before its end.
  read_events(*found->second.served, true);
  ActiveCall call = std::move(found->second);
  active_.erase(found);
  named_.erase({call.caller.get(), call.summary.call_id});
  --call.caller->running;
  result.call_id = call.summary.call_id;
  // As bytes they are MCP's to hand out.
  if (call.served == builtins_ && call.via != "mcp") show_files(result.output);
  const bool known = result.report.outcome != Outcome::unknown_tool;
  metrics_.called(known ? call.summary.tool : "", result);
  record(call, result);
  keep(call, result);
  if (!subscribers_->empty()) publish("finished", &call, call.summary.tool, data_of(result));
  call.observer.on_done(std::move(result));
  call.served.reset();
  if (!retired_.empty()) sweep_retired();
  if (draining_ && active_.empty() && drained_) std::exchange(drained_, nullptr)();
}

void Service::record(const ActiveCall& call, const ToolResult& result) {
  const Report& report = result.report;
  Json line{{"event", "end"},
            {"at", time_text(std::chrono::system_clock::now())},
            {"started_at", time_text(call.summary.since)},
            {"call_id", call.summary.call_id},
            {"caller", call.caller->name},
            {"peer", call.peer},
            {"via", call.via},
            {"tool", call.summary.tool},
            {"arguments_sha256", call.arguments_hash},
            {"outcome", to_string(report.outcome)},
            {"duration_ms", milliseconds_of(result.duration)},
            {"usage",
             {{"cpu_ms", milliseconds_of(report.usage.cpu)},
              {"memory_peak", report.usage.memory_peak},
              {"stdout_bytes", report.out.total},
              {"stderr_bytes", report.err.total}}},
            {"span",
             {{"trace_id", call.trace.trace_id},
              {"span_id", call.trace.span_id},
              {"queue_ms", milliseconds_of(report.steps.queue)},
              {"dispatch_ms", milliseconds_of(report.steps.dispatch)},
              {"run_ms", milliseconds_of(report.steps.run)},
              {"teardown_ms", milliseconds_of(report.steps.teardown)}}}};
  if (!call.trace.parent_id.empty()) line["span"]["parent_id"] = call.trace.parent_id;
  if (!report.violations.empty()) line["violations"] = data_of(report.violations);
  audit_.write(json_line(line));
}

void Service::keep(const ActiveCall& call, const ToolResult& result) {
  Json data = data_of(result);
  data["call_id"] = call.summary.call_id;
  data["tool"] = call.summary.tool;
  data["caller"] = call.summary.caller;
  data["started_at"] = time_text(call.summary.since);
  data["ended_at"] = time_text(std::chrono::system_clock::now());
  if (!call.summary.arguments.is_null()) data["arguments"] = call.summary.arguments;
  const auto add_end = [&](const char* name, const std::string& bytes) {
    std::string_view end = bytes;
    end.remove_prefix(end.size() - std::min(end.size(), kMostOutputKept));
    end.remove_prefix(utf8_cut_at_start(end));
    if (!end.empty() && is_valid_utf8(end)) data[name] = std::string(end);
  };
  add_end("stdout_end", result.report.out.bytes);
  add_end("stderr_end", result.report.err.bytes);
  std::string text = json_line(data);
  if (text.size() > kMostOfACall) {  // a long message, or many violations
    data["message"] = data["message"].get<std::string>().substr(0, kMostOutputKept);
    if (data["violations"].size() > kMostViolationsKept)
      data["violations"].erase(data["violations"].begin() + kMostViolationsKept,
                               data["violations"].end());
    text = json_line(data);
  }
  if (text.size() <= 4 * kMostOfACall) history_.add(call.caller, std::move(text));
}

void Service::publish(const std::string& kind, const ActiveCall* call, const std::string& tool,
                      Json data) {
  if (subscribers_->empty()) return;
  data["kind"] = kind;
  data["at"] = time_text(std::chrono::system_clock::now());
  if (!tool.empty()) data["tool"] = tool;
  Notice notice{kind, "", tool, nullptr, {}};
  if (call) {
    data["call_id"] = notice.call_id = call->summary.call_id;
    data["caller"] = call->summary.caller;
    notice.caller = call->caller;
  }
  notice.data = json_line(data);
  call_all(subscribers_, notice);
}

std::shared_ptr<void> Service::watch(Subscriber subscriber) {
  return listed(subscribers_, std::move(subscriber));
}

std::shared_ptr<void> Service::on_tools_changed(std::function<void()> job) {
  return listed(on_tools_, std::move(job));
}

void Service::swap_in(std::shared_ptr<ServedSandbox> next) {
  std::map<std::string, Json> before, after;
  const auto read = [](const std::shared_ptr<ServedSandbox>& served,
                       std::map<std::string, Json>& into) {
    for (const auto& tool : served->sandbox->list_tools()) into[tool->name] = tool_as_json(*tool);
  };
  read(tools_, before);
  read(next, after);
  retired_.push_back(std::exchange(tools_, std::move(next)));
  sweep_retired();
  bool changed = false;
  const auto note = [&](const char* kind, const std::string& tool) {
    changed = true;
    publish(kind, nullptr, tool, Json::object());
  };
  for (const auto& [name, form] : before)
    if (!after.contains(name)) note("tool_removed", name);
  for (const auto& [name, form] : after) {
    const auto found = before.find(name);
    if (found == before.end())
      note("tool_added", name);
    else if (found->second != form)
      note("tool_updated", name);
  }
  if (!changed) return;
  call_all(on_tools_);
}

// The end of a sandbox takes a while, in which all else would wait.
void Service::sweep_retired() {
  for (std::shared_ptr<ServedSandbox>& served : retired_) {
    if (served.use_count() > 1) continue;
    served->readable.reset();
    std::function<void()> job = [gone = std::move(served)] {};
    worker_->post(job);
  }
  std::erase(retired_, nullptr);
}

namespace {

// Where the cause of a failed load may be mended: beside what is imported, too.
std::vector<std::string> causes_in(const std::string& path) {
  std::vector<std::string> found;
  try {
    const Manifest manifest = manifest_from_toml_file(path);
    for (const auto& library : manifest.tools.libraries()) found.push_back(library.path);
    for (const auto& each : manifest.tools.python_modules())
      for (const auto& list : {python_sources(each.python), python_directories(each.python)})
        found.insert(found.end(), list.begin(), list.end());
  } catch (const std::exception&) {
    // The manifest itself.
  }
  return found;
}

}  // namespace

std::vector<std::string> Service::sources() const {
  std::vector<std::string> list{options_.manifest};
  const auto add = [&](const std::vector<std::string>& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  if (tools_) add(tools_->sandbox->sources());
  add(may_help_);
  return list;
}

// On the thread that reloads. Either both change or nothing does.
void Service::change_builtins(const Policy& policy) {
  const auto preload =
      preload_of(options_.preload, manifest_from_toml_file(options_.manifest).preload);
  Sandbox& sandbox = *builtins_->sandbox;
  if (preload != preloaded_) {
    sandbox.set_tools(builtin_tools(true, preload));
    try {
      sandbox.set_policy(policy);
    } catch (...) {
      sandbox.set_tools(builtin_tools(true, preloaded_));
      throw;
    }
  } else {
    sandbox.set_policy(policy);
  }
  preloaded_ = preload;
}

void Service::reload(const std::function<void(std::string)>& done) {
  if (!has_manifest()) return done("there is no manifest to reload");
  if (reloading_) {
    reload_again_ = true;  // and `done` of the one under way hears of it, too
    return;
  }
  reloading_ = true;
  // Calls of the tools as they were go on, and count beside those of the new ones.
  std::function<void()> job = [this, done, beside = tools_->sandbox.get()] {
    std::string fault;
    std::vector<std::string> may_help;
    std::shared_ptr<Sandbox> made;
    Policy policy;
    const timespec began = ManifestWatch::now();
    try {
      made = make_sandbox(options_.manifest, beside, policy);
      if (builtins_) change_builtins(policy);
    } catch (const std::exception& error) {
      fault = error.what();
      made = nullptr;
      may_help = causes_in(options_.manifest);
    }
    loop_.post([this, done, fault, made, began, may_help, policy] {
      reloading_ = false;
      loaded_ = began;
      may_help_ = may_help;
      metrics_.reloaded(made != nullptr);
      if (made && builtins_) builtins_->policy = policy;
      if (made) swap_in(serve(made, policy));
      done(fault);
      if (std::exchange(reload_again_, false)) reload(done);
    });
  };
  if (!worker_->post(job)) {
    reloading_ = false;
    done("there can be no thread for it now");
  }
}

void Service::drain(std::function<void()> done) {
  draining_ = true;
  if (active_.empty()) return done();
  drained_ = std::move(done);
}

SandboxState Service::state() const {
  SandboxState sum;
  for (const auto& served : {builtins_, tools_}) {
    if (!served) continue;
    const SandboxState state = served->sandbox->state();
    sum.running = state.running;  // of all that share their places
    sum.waiting = state.waiting;
    sum.ready += state.ready;
  }
  return sum;
}

}  // namespace brig::serve
