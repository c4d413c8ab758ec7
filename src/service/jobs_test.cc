// Jobs of commands that really run, on a loop of their own.
#include "service/jobs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/time_text.h"
#include "testing/scratch_directory.h"

namespace brig::serve {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::seconds kAtOnce{15};

class JobsOf : public testing::Test {
 protected:
  JobsOf() {
    std::ofstream(directory_ / "brig.toml") << R"toml(
[policy]
timeout = "60s"
grace = "100ms"
[[command]]
name = "say"
argv = ["echo", "{text}"]
parameters.text = { type = "string" }
[[command]]
name = "nap"
argv = ["sleep", "60"]
)toml";
    caller_->name = "a";
    other_->name = "b";
  }
  ~JobsOf() override {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
    jobs_.reset();
    service_.reset();
  }

  void begin(JobLimits limits = {}) {
    ServiceOptions options;
    options.manifest = directory_ / "brig.toml";
    service_ = std::make_unique<Service>(loop_, options, Builtins{});
    jobs_ = std::make_unique<Jobs>(loop_, *service_, limits);
    thread_ = std::thread([this] {
      loop_.run([](const std::exception& defect) { ADD_FAILURE() << defect.what(); });
    });
  }
  // Does it on the loop's thread.
  template <typename Job>
  auto there(Job job) const {
    std::promise<decltype(job())> done;
    loop_.post([&] { done.set_value(job()); });
    return done.get_future().get();
  }
  std::variant<std::string, Refusal> submit(const std::string& tool, const Json& arguments,
                                            std::size_t size = 1, CallerPtr caller = nullptr) {
    return there([&] {
      CallRequest request;
      request.tool = tool;
      request.arguments = arguments;
      request.caller = caller ? caller : caller_;
      request.via = "job";
      return jobs_->submit(std::move(request), size);
    });
  }
  std::string say(const std::string& text) {
    return std::get<std::string>(submit("say", {{"text", text}}));
  }
  std::string nap() { return std::get<std::string>(submit("nap", Json::object())); }
  std::optional<Json> find(const std::string& id, const CallerPtr& caller) {
    const auto text = there([&] { return jobs_->find(id, *caller); });
    return text ? std::optional<Json>(Json::parse(*text)) : std::nullopt;
  }
  std::string status(const std::string& id, const CallerPtr& caller = nullptr) {
    const auto job = find(id, caller ? caller : caller_);
    return job ? (*job)["status"].get<std::string>() : "none";
  }
  Jobs::Removal remove(const std::string& id, const CallerPtr& caller) {
    return there([&] { return jobs_->remove(id, *caller); });
  }
  bool becomes(const std::string& id, const std::string& wanted,
               const CallerPtr& caller = nullptr) {
    for (const auto begin = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - begin < kAtOnce; usleep(2000))
      if (status(id, caller) == wanted) return true;
    return false;
  }
  std::size_t size() {
    return there([&] { return jobs_->size(); });
  }

  mutable Loop loop_;
  const ScratchDirectory directory_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Jobs> jobs_;
  std::thread thread_;
  CallerPtr caller_ = std::make_shared<Caller>(), other_ = std::make_shared<Caller>();
};

TEST_F(JobsOf, AResultIsKept) {
  begin();
  const auto now = [] { return time_text(std::chrono::system_clock::now()); };
  const std::string before = now();
  const std::string id = say("hello");
  ASSERT_TRUE(becomes(id, "done"));
  const Json job = *find(id, caller_);
  EXPECT_EQ(job["id"], id);
  EXPECT_EQ(job["tool"], "say");
  EXPECT_EQ(job["result"]["ok"], true);
  EXPECT_EQ(job["result"]["output"], "hello") << job;
  EXPECT_GE(job["created_at"].get<std::string>(), before);
  EXPECT_LE(job["created_at"].get<std::string>(), now());
  const auto list = there([&] { return jobs_->list(*caller_); });
  ASSERT_EQ(list.size(), 1u);
  EXPECT_FALSE(list[0].contains("result")) << "they may be many, and large";
}

TEST_F(JobsOf, OthersAreNotSeenButByAnAdmin) {
  begin();
  const std::string id = say("hello");
  EXPECT_FALSE(find(id, other_));
  EXPECT_EQ(remove(id, other_), Jobs::Removal::none);
  EXPECT_TRUE(there([&] { return jobs_->list(*other_); }).empty());
  other_->admin = true;
  EXPECT_TRUE(find(id, other_));
}

TEST_F(JobsOf, ARunningOneIsCancelledAndADoneOneForgotten) {
  begin();
  const std::string id = nap();
  ASSERT_TRUE(becomes(id, "running"));
  EXPECT_EQ(remove(id, caller_), Jobs::Removal::cancelled);
  ASSERT_TRUE(becomes(id, "done"));
  EXPECT_EQ((*find(id, caller_))["result"]["report"]["outcome"], "cancelled");
  EXPECT_EQ(remove(id, caller_), Jobs::Removal::forgotten);
  EXPECT_EQ(status(id), "none");
  EXPECT_EQ(remove(id, caller_), Jobs::Removal::none);
  EXPECT_EQ(size(), 0u);
}

TEST_F(JobsOf, ResultsExpire) {
  begin({.kept = 0s});
  const std::string id = say("hello");
  EXPECT_TRUE(becomes(id, "none"));
  EXPECT_EQ(size(), 0u);
}

TEST_F(JobsOf, TheOldestResultsMakeRoomForNewOnes) {
  begin({.bytes = 4000});
  const std::string first = say(std::string(1500, 'x'));
  ASSERT_TRUE(becomes(first, "done"));
  const std::string second = say(std::string(1500, 'x'));
  EXPECT_TRUE(becomes(second, "done") || status(second) == "none");
  EXPECT_TRUE(becomes(first, "none"));
}

TEST_F(JobsOf, NoMoreAreTakenThanCanBeKept) {
  begin({.count = 1});
  const std::string id = nap();
  const auto second = submit("say", {{"text", "x"}});
  const auto* refusal = std::get_if<Refusal>(&second);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 503u);
  EXPECT_TRUE(refusal->retry_after);
  remove(id, caller_);
  ASSERT_TRUE(becomes(id, "done"));
  remove(id, caller_);
  EXPECT_NE(say("now"), "");
}

TEST_F(JobsOf, NoMoreOfArgumentsIsHeldThanMayBe) {
  begin({.arguments = 100});
  const auto first = submit("nap", Json::object(), 60);
  const std::string id = std::get<std::string>(first);
  const auto second = submit("nap", Json::object(), 60);
  ASSERT_TRUE(std::holds_alternative<Refusal>(second));
  EXPECT_EQ(std::get<Refusal>(second).status, 503u);
  EXPECT_TRUE(std::get<Refusal>(second).retry_after);
  remove(id, caller_);
  ASSERT_TRUE(becomes(id, "done"));
  EXPECT_TRUE(std::holds_alternative<std::string>(submit("say", {{"text", "x"}}, 60)))
      << "of what is done they are let go";
}

TEST_F(JobsOf, ACallersResultsDoNotPushOutAnothers) {
  begin({.bytes = 8000});
  const std::string first = std::get<std::string>(submit("say", {{"text", "mine"}}, 1, other_));
  ASSERT_TRUE(becomes(first, "done", other_));
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(becomes(say(std::string(1500, 'x')), "done"));
  ASSERT_TRUE(find(first, other_)) << "it is the oldest, but another had more";
  EXPECT_LE(caller_->holds.results + other_->holds.results, 8000u);
  EXPECT_EQ(remove(first, other_), Jobs::Removal::forgotten);
  EXPECT_EQ(other_->holds.jobs, 0u);
  EXPECT_EQ(other_->holds.results, 0u);
}

TEST_F(JobsOf, ACallerCanNotHaveAllJobsOrAllOfTheirArguments) {
  begin({.count = 8, .arguments = 800});
  std::vector<std::string> ids;
  for (;;) {
    auto taken = submit("nap", Json::object(), 100);
    if (!std::holds_alternative<std::string>(taken)) break;
    ids.push_back(std::get<std::string>(taken));
    ASSERT_LT(ids.size(), 8u);
  }
  EXPECT_EQ(ids.size(), 6u) << "three quarters";
  const auto others = submit("say", {{"text", "x"}}, 100, other_);
  ASSERT_TRUE(std::holds_alternative<std::string>(others));
  for (const std::string& id : ids) remove(id, caller_);
  for (const std::string& id : ids) EXPECT_TRUE(becomes(id, "done"));
  EXPECT_EQ(caller_->holds.arguments, 0u);
}

TEST_F(JobsOf, AWaiterIsToldOnceWhenItIsDone) {
  begin();
  const std::string id = nap();
  ASSERT_TRUE(becomes(id, "running"));
  std::promise<std::string> told;
  there([&] {
    jobs_->wait(id, 60s,
                [&] { told.set_value(Json::parse(*jobs_->find(id, *caller_))["status"]); });
    return 0;
  });
  remove(id, caller_);
  auto future = told.get_future();
  ASSERT_EQ(future.wait_for(kAtOnce), std::future_status::ready);
  EXPECT_EQ(future.get(), "done");
}

TEST_F(JobsOf, AWaiterOfAJobThatGoesOnIsToldAfterItsTime) {
  begin();
  const std::string id = nap();
  std::promise<void> told;
  there([&] {
    jobs_->wait(id, 50ms, [&] { told.set_value(); });
    return 0;
  });
  EXPECT_EQ(told.get_future().wait_for(kAtOnce), std::future_status::ready);
  EXPECT_NE(status(id), "done");
  remove(id, caller_);
  EXPECT_TRUE(becomes(id, "done")) << "and it is not told a second time";
}

TEST_F(JobsOf, IdsCanNotBeGuessed) {
  begin();
  const std::string a = say("x"), b = say("x");
  EXPECT_GE(a.size(), 32u);
  EXPECT_NE(a.substr(0, 16), b.substr(0, 16));
}

// A job that a call of "nap" has become, as tasks of MCP are.
class TasksOf : public JobsOf {
 protected:
  std::optional<std::string> adopt(const CallerPtr& caller, Job job = {}) {
    return there([&] {
      CallRequest request;
      request.tool = "nap";
      request.caller = caller;
      const auto id = std::make_shared<std::string>();
      CallObserver observer;
      observer.on_event = [this, id](const Event& event) { jobs_->receive(*id, event); };
      observer.on_done = [this, id](const ToolResult& result) {
        jobs_->finish(*id,
                      {"{}", result.report.outcome == Outcome::cancelled, !result.ok(), "why"});
      };
      job.kind = JobKind::task;
      job.tool = request.tool;
      job.caller = caller;
      job.size = 1;
      job.call = std::get<AcceptedCall>(service_->start(std::move(request), std::move(observer)));
      const std::uint64_t number = job.call.number;
      const auto adopted = jobs_->adopt(std::move(job));
      if (adopted)
        *id = *adopted;
      else
        service_->cancel(number, true);
      return adopted;
    });
  }
  std::optional<Job> look(const std::string& id, const CallerPtr& caller,
                          JobKind kind = JobKind::task) {
    return there([&] {
      const Job* job = jobs_->look(id, kind, *caller);
      return job ? std::optional<Job>(*job) : std::nullopt;
    });
  }
  void end(const std::string& id) {
    there([&] {
      jobs_->end(id);
      return 0;
    });
  }
  bool gets(const std::string& id, Job::Status status) {
    for (const auto begin = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - begin < kAtOnce; usleep(2000))
      if (const auto job = look(id, caller_); job && job->status == status) return true;
    return false;
  }
};

TEST_F(TasksOf, AreFoundByTheirCallerAndTheirKindAlone) {
  begin();
  const std::string task = *adopt(caller_), job = nap();
  EXPECT_TRUE(look(task, caller_));
  EXPECT_FALSE(look(task, caller_, JobKind::legacy_task));
  EXPECT_FALSE(look(task, caller_, JobKind::api));
  EXPECT_FALSE(look(job, caller_));
  EXPECT_FALSE(find(task, caller_)) << "it is no job of /v1/jobs";
  EXPECT_EQ(remove(task, caller_), Jobs::Removal::none);
  EXPECT_EQ(there([&] { return jobs_->list(*caller_); }).size(), 1u);
  EXPECT_FALSE(look(task, other_));
  other_->admin = true;
  EXPECT_FALSE(look(task, other_)) << "not even for an admin";
  EXPECT_FALSE(find(task, other_));
  EXPECT_GE(task.size(), 33u);
}

TEST_F(TasksOf, EndAndAreKept) {
  begin();
  const std::string id = *adopt(caller_);
  ASSERT_TRUE(gets(id, Job::Status::running));
  end(id);
  ASSERT_TRUE(gets(id, Job::Status::done));
  const Job job = *look(id, caller_);
  EXPECT_TRUE(job.asked_to_end && job.was_cancelled && job.has_failed);
  EXPECT_EQ(job.result, "{}");
  EXPECT_EQ(job.message, "why");
  end(id);  // there is nothing to end any more
  EXPECT_TRUE(look(id, caller_)) << "and it is kept";
  EXPECT_EQ(caller_->holds.arguments, 0u);
  EXPECT_EQ(caller_->holds.results, 2u);
}

TEST_F(TasksOf, AreKeptNoLongerThanIsWanted) {
  begin();
  Job wanted;
  wanted.kept = 1ms;
  const std::string id = *adopt(caller_, wanted), other = *adopt(caller_);
  ASSERT_TRUE(gets(id, Job::Status::running));
  end(other);
  ASSERT_TRUE(gets(other, Job::Status::done));
  end(id);
  for (const auto begin = std::chrono::steady_clock::now();
       look(id, caller_) && std::chrono::steady_clock::now() - begin < kAtOnce;)
    usleep(2000);
  EXPECT_FALSE(look(id, caller_));
  EXPECT_TRUE(look(other, caller_)) << "it ended earlier, and is kept for longer";
}

TEST_F(TasksOf, AreBoundedTogetherWithTheOtherJobs) {
  begin({.count = 8});
  std::vector<std::string> tasks;
  while (const auto id = adopt(caller_)) {
    tasks.push_back(*id);
    ASSERT_LT(tasks.size(), 8u);
  }
  EXPECT_EQ(tasks.size(), 6u) << "three quarters";
  EXPECT_TRUE(std::holds_alternative<Refusal>(submit("say", {{"text", "x"}})));
  EXPECT_TRUE(adopt(other_));
  for (const std::string& id : tasks) end(id);
  for (const std::string& id : tasks) EXPECT_TRUE(gets(id, Job::Status::done));
}

TEST_F(TasksOf, AWaiterThatStopsIsNotTold) {
  begin();
  const std::string id = *adopt(caller_);
  std::promise<void> second;
  there([&] {
    const std::uint64_t key =
        jobs_->wait(id, 60s, [] { ADD_FAILURE() << "it is told nevertheless"; });
    jobs_->wait(id, 60s, [&] { second.set_value(); });
    jobs_->stop_waiting(id, key);
    return 0;
  });
  EXPECT_EQ(look(id, caller_)->waiting.size(), 1u);
  end(id);
  EXPECT_EQ(second.get_future().wait_for(kAtOnce), std::future_status::ready);
}

}  // namespace
}  // namespace brig::serve
