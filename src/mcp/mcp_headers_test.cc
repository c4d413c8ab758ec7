#include "mcp/mcp_headers.h"

#include <gtest/gtest.h>

namespace brig::serve {
namespace {

Json call_of(const std::string& tool, Json arguments = Json::object()) {
  return {{"method", "tools/call"},
          {"params", {{"name", tool}, {"arguments", std::move(arguments)}}}};
}

bool agrees(std::vector<Header> headers, const Json& message, const Tool* tool = nullptr) {
  Request request;
  request.headers = std::move(headers);
  const auto mismatch = header_mismatch(request, message, tool);
  if (mismatch) {
    EXPECT_NE(*mismatch, "");
  }
  return !mismatch;
}

TEST(McpHeaders, TheMethodMustBeThereOnceAndTheSame) {
  const Json message{{"method", "tools/list"}};
  EXPECT_TRUE(agrees({{"mcp-method", "tools/list"}}, message));
  EXPECT_TRUE(agrees({{"mcp-method", "  tools/list "}}, message));
  EXPECT_FALSE(agrees({}, message));
  EXPECT_FALSE(agrees({{"mcp-method", ""}}, message));
  EXPECT_FALSE(agrees({{"mcp-method", "prompts/list"}}, message));
  EXPECT_FALSE(agrees({{"mcp-method", "TOOLS/LIST"}}, message));
  EXPECT_FALSE(agrees({{"mcp-method", "tools/list"}, {"mcp-method", "tools/list"}}, message));
}

TEST(McpHeaders, TheNameIsThatOfWhatIsCalled) {
  const Header method{"mcp-method", "tools/call"};
  EXPECT_TRUE(agrees({method, {"mcp-name", "add"}}, call_of("add")));
  EXPECT_TRUE(agrees({method, {"mcp-name", "  add  "}}, call_of("add")));
  EXPECT_FALSE(agrees({method}, call_of("add")));
  EXPECT_FALSE(agrees({method, {"mcp-name", "Add"}}, call_of("add")));
  EXPECT_FALSE(agrees({method, {"mcp-name", "add"}, {"mcp-name", "add"}}, call_of("add")));
}

TEST(McpHeaders, OtherMethodsHaveOtherNames) {
  const Json read{{"method", "resources/read"}, {"params", {{"uri", "test://x"}}}};
  EXPECT_TRUE(agrees({{"mcp-method", "resources/read"}, {"mcp-name", "test://x"}}, read));
  EXPECT_FALSE(agrees({{"mcp-method", "resources/read"}, {"mcp-name", "test://y"}}, read));
  const Json list{{"method", "tools/list"}, {"params", {{"name", "x"}}}};
  EXPECT_TRUE(agrees({{"mcp-method", "tools/list"}}, list)) << "a name there means nothing";
}

TEST(McpHeaders, AValueMayComeAsBase64) {
  const Header method{"mcp-method", "tools/call"};
  EXPECT_TRUE(agrees({method, {"mcp-name", "=?base64?YWRk?="}}, call_of("add")));
  EXPECT_FALSE(agrees({method, {"mcp-name", "=?base64?YWRk?="}}, call_of("=?base64?YWRk?=")));
  EXPECT_FALSE(agrees({method, {"mcp-name", "=?base64?YW!k?="}}, call_of("add")));
  EXPECT_FALSE(agrees({method, {"mcp-name", "=?base64?YQ?="}}, call_of("a"))) << "no padding";
  EXPECT_TRUE(agrees({method, {"mcp-name", "YWRk"}}, call_of("YWRk"))) << "literal";
  EXPECT_TRUE(agrees({method, {"mcp-name", "=?base64?YWRk"}}, call_of("=?base64?YWRk")));
}

class McpParameterHeaders : public testing::Test {
 protected:
  McpParameterHeaders() {
    tool_.name = "t";
    tool_.input_schema = Json::parse(R"({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "plain": {"type": "string"}, "any": true}})");
  }
  bool fits(std::vector<Header> headers, Json arguments) {
    headers.push_back({"mcp-method", "tools/call"});
    headers.push_back({"mcp-name", "t"});
    return agrees(std::move(headers), call_of("t", std::move(arguments)), &tool_);
  }
  Tool tool_;
};

TEST_F(McpParameterHeaders, SayWhatTheArgumentSays) {
  EXPECT_TRUE(fits({}, Json::object()));
  EXPECT_TRUE(fits({}, {{"plain", "x"}, {"any", 1}}));
  EXPECT_TRUE(fits({{"mcp-param-region", "eu"}}, {{"region", "eu"}}));
  EXPECT_TRUE(fits({{"mcp-param-region", "=?base64?SGVsbG8=?="}}, {{"region", "Hello"}}));
  EXPECT_TRUE(fits({{"mcp-param-region", "SGVsbG8="}}, {{"region", "SGVsbG8="}}));
  EXPECT_TRUE(fits({{"mcp-param-count", "7"}}, {{"count", 7}}));
  EXPECT_TRUE(fits({}, {{"region", nullptr}})) << "null is no value";
}

TEST_F(McpParameterHeaders, ThatLieAreNoticed) {
  EXPECT_FALSE(fits({}, {{"region", "eu"}})) << "missing";
  EXPECT_FALSE(fits({{"mcp-param-region", "us"}}, {{"region", "eu"}}));
  EXPECT_FALSE(fits({{"mcp-param-region", "eu"}}, Json::object())) << "of nothing";
  EXPECT_FALSE(fits({{"mcp-param-region", "=?base64?SGVsbG8?="}}, {{"region", "Hello"}}));
  EXPECT_FALSE(fits({{"mcp-param-region", "=?base64?SGVs!!!bG8=?="}}, {{"region", "Hello"}}));
  EXPECT_FALSE(fits({{"mcp-param-region", "eu"}, {"mcp-param-region", "eu"}}, {{"region", "eu"}}));
  EXPECT_FALSE(fits({{"mcp-param-count", "8"}}, {{"count", 7}}));
}

}  // namespace
}  // namespace brig::serve
