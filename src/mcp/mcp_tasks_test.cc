// Tasks as they are told, and the jobs that they are.
#include "mcp/mcp_tasks.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

using namespace std::chrono_literals;

struct TaskAsTold : testing::Test {
  TaskAsTold() {
    job.kind = JobKind::task;
    job.kept = 600s;
    job.began = now - 1000ms;
    job.created = job.changed = std::chrono::system_clock::time_point(1'700'000'000s);
  }
  void legacy() { job.kind = JobKind::legacy_task; }
  void end(bool failed = false, bool cancelled = false) {
    job.status = Job::Status::done;
    job.ended = now;
    job.has_failed = failed;
    job.was_cancelled = cancelled;
  }
  Json told(std::chrono::milliseconds later = 0ms) const {
    return task_json("t1", job, now + later);
  }
  std::string status() const { return told()["status"]; }

  const std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
  Job job;
};

TEST_F(TaskAsTold, ATaskHasTheWordsOfItsEra) {
  const Json modern = told();
  EXPECT_EQ(modern["taskId"], "t1");
  EXPECT_EQ(modern["createdAt"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(modern["lastUpdatedAt"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(modern["ttlMs"], 601'000);
  EXPECT_EQ(modern["pollIntervalMs"], 500);
  EXPECT_FALSE(modern.contains("ttl") || modern.contains("pollInterval")) << modern;
  legacy();
  const Json old = told();
  EXPECT_EQ(old["ttl"], 601'000);
  EXPECT_EQ(old["pollInterval"], 500);
  EXPECT_FALSE(old.contains("ttlMs") || old.contains("pollIntervalMs")) << old;
}

TEST_F(TaskAsTold, WhatIsLeftOfItsTimeShrinksOnlyAfterItsEnd) {
  EXPECT_EQ(told(5s)["ttlMs"], 606'000);
  end();
  EXPECT_EQ(told(0s)["ttlMs"], 601'000);
  EXPECT_EQ(told(5s)["ttlMs"], 601'000) << "counted from the creation, it stays the same";
}

TEST_F(TaskAsTold, AClientAsksSeldomForACallThatTakesLong) {
  job.began = now;
  EXPECT_EQ(told()["pollIntervalMs"], 100);
  EXPECT_EQ(told(1s)["pollIntervalMs"], 500);
  EXPECT_EQ(told(1h)["pollIntervalMs"], 2000);
}

TEST_F(TaskAsTold, AResultThatIsAnErrorHasFailedOnlyInTheOlderEra) {
  end(true);
  EXPECT_EQ(status(), "completed");
  legacy();
  EXPECT_EQ(status(), "failed");
}

TEST_F(TaskAsTold, ATaskIsCancelledWhenNothingOfItRuns) {
  job.asked_to_end = true;
  EXPECT_EQ(status(), "working");
  EXPECT_EQ(told()["statusMessage"], "The call is being ended.");
  end(true, true);
  EXPECT_EQ(status(), "cancelled");
  end();
  EXPECT_EQ(status(), "completed") << "it ended by itself before it could be ended";
}

TEST_F(TaskAsTold, InTheOlderEraATaskIsCancelledAtOnceAndForGood) {
  legacy();
  job.asked_to_end = true;
  EXPECT_EQ(status(), "cancelled");
  end();
  EXPECT_EQ(status(), "cancelled");
}

TEST_F(TaskAsTold, ACallThatSomebodyElseEndedIsCancelledToo) {
  end(true, true);
  EXPECT_EQ(status(), "cancelled");
  legacy();
  EXPECT_EQ(status(), "cancelled");
}

TEST_F(TaskAsTold, WhatTheToolSaysIsTheMessage) {
  EXPECT_EQ(told()["statusMessage"], "The call is waiting for its turn.");
  job.status = Job::Status::running;
  EXPECT_EQ(told()["statusMessage"], "The call is running.");
  job.message = "half of it";
  EXPECT_EQ(told()["statusMessage"], "half of it");
  job.message.clear();
  end();
  EXPECT_FALSE(told().contains("statusMessage"));
}

TEST(TaskWishes, AreATimeInMilliseconds) {
  EXPECT_EQ(task_wish_of(Json::object())->kept, 0ms) << "as long as the server likes";
  EXPECT_EQ(task_wish_of({{"ttl", nullptr}})->kept, 0ms);
  EXPECT_EQ(task_wish_of({{"ttl", 60000}})->kept, 60s);
  EXPECT_EQ(task_wish_of({{"ttl", 1.5}})->kept, 1ms);
  EXPECT_EQ(task_wish_of({{"ttl", 0}})->kept, 1ms) << "as short as can be";
  EXPECT_EQ(task_wish_of({{"ttl", 1e300}})->kept, 24h);
  for (const Json& bad : {Json(true), Json("60"), Json{{"ttl", -1}}, Json{{"ttl", "60"}}, Json()})
    EXPECT_FALSE(task_wish_of(bad)) << bad;
}

TEST(TaskDeclarations, AreAnExtensionOfTheClient) {
  const Json declared{{"extensions", {{kTasksExtension, Json::object()}}}};
  EXPECT_TRUE(declares_tasks(&declared));
  EXPECT_FALSE(declares_tasks(nullptr));
  for (const Json& other :
       {Json::object(), Json{{"tasks", Json::object()}}, Json{{"extensions", {kTasksExtension}}},
        Json{{"extensions", {{kTasksExtension, false}}}}, Json("tasks")})
    EXPECT_FALSE(declares_tasks(&other)) << other;
}

}  // namespace
}  // namespace brig::serve
