// The official test suite as Debian packages it (json-schema-test-suite): draft 7. Its cases hold
// for 2020-12 too, where the keyword still has that name.
#include <brig/error.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "json/schema.h"

namespace brig {
namespace {

constexpr const char* kSuite = "/usr/share/json-schema-test-suite/tests/draft7";

// Refusals that are right: 2020-12 no longer has the keyword, or a reference leads out of the
// schema.
bool is_expected(const std::string& refusal) {
  for (const char* reason : {"prefixItems", "/additionalItems'", "/dependencies'",
                             "only references within the schema", "an $id below the root"})
    if (refusal.find(reason) != std::string::npos) return true;
  return false;
}

// Groups that mean something else in draft 7.
const std::set<std::string> kOtherwise{
    "ref.json: ref overrides any sibling keywords",  // Since 2019-09 the siblings count too.
    "ref.json: escaped pointer ref",  // Keeps schemas under names that are not keywords.
};

TEST(SchemaSuite, AgreesWithTheOfficialCases) {
  ASSERT_TRUE(std::filesystem::is_directory(kSuite)) << "apt-get install json-schema-test-suite";
  int cases = 0, groups = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSuite)) {
    if (entry.path().extension() != ".json") continue;  // "optional" is a directory.
    std::ifstream file(entry.path());
    for (const Json& group : Json::parse(file)) {
      ++groups;
      const std::string name =
          entry.path().filename().string() + ": " + group.at("description").get<std::string>();
      if (kOtherwise.contains(name)) continue;
      try {
        const Schema schema(group.at("schema"));
        for (const Json& each : group.at("tests")) {
          ++cases;
          const auto faults = schema.check(each.at("data"));
          EXPECT_EQ(faults.empty(), each.at("valid").get<bool>())
              << name << ": " << each.at("description").get<std::string>() << "\n"
              << (faults.empty() ? "" : faults[0].path + ": " + faults[0].expected);
        }
      } catch (const Error& error) {
        ++refused;
        EXPECT_TRUE(is_expected(error.what())) << name << ": " << error.what();
      }
    }
  }
  // Neither number may shrink by accident.
  EXPECT_GE(cases, 340);
  EXPECT_LE(refused, groups / 5) << groups;
}

}  // namespace
}  // namespace brig
