// How a Service reloads its tools while calls of the old ones go on.
#include "service/builtin.h"
#include "service/manifest_watch.h"
#include "service/service.h"
#include "tool/python.h"

namespace brig::serve {

// Ending a sandbox takes a while, and everything else would wait for it: the worker does it.
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

// Returns the files and directories where the cause of a failed load may be fixed, including those
// beside what is imported.
std::vector<std::string> causes_in(const std::string& path) {
  std::vector<std::string> found;
  try {
    const Manifest manifest = manifest_from_toml_file(path);
    for (const auto& library : manifest.tools.libraries()) found.push_back(library.path);
    for (const auto& each : manifest.tools.python_modules())
      for (const auto& list : {python_sources(each.python), python_directories(each.python)})
        found.insert(found.end(), list.begin(), list.end());
  } catch (const std::exception&) {
    // The manifest itself is the cause.
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

// Runs on the thread that reloads. Either both change or nothing does.
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
  if (!has_manifest()) return done("the server was started without a manifest");
  if (reloading_) {
    // The `done` of the running reload hears of this one too.
    reload_again_ = true;
    return;
  }
  reloading_ = true;
  // Calls of the old tools go on, and share their places with calls of the new ones.
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
      if (made) swap_in(serve(made, policy));
      done(fault);
      if (std::exchange(reload_again_, false)) reload(done);
    });
  };
  if (!worker_->post(job)) {
    reloading_ = false;
    done("could not start a worker thread; try again");
  }
}

}  // namespace brig::serve
