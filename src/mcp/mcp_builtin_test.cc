#include "mcp/mcp_builtin.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "json/json_line.h"

namespace brig::serve {
namespace {

const std::string kShownPng = base64("\x89PNG\r\n\x1a\n rest");

Output stream_with(std::string bytes) {
  Output output;
  output.total = bytes.size();
  output.bytes = std::move(bytes);
  return output;
}

// Of which the middle is missing.
Output cut_stream(const std::string& head, std::uint64_t missing, const std::string& tail) {
  Output output = stream_with(head + tail);
  output.total += missing;
  output.truncated = true;
  output.cut = head.size();
  return output;
}

ToolResult python_result(const std::string& out, const Json& displays, Json value = nullptr) {
  ToolResult result;
  result.report.outcome = Outcome::ok;
  result.report.out = stream_with(out);
  result.output = {{"value", std::move(value)}, {"displays", displays}};
  return result;
}

struct KeepingView : McpView {
  KeepingView() {
    keep = [this](const std::string& name, std::string type, std::string bytes) {
      kept[name] = std::move(bytes);
      return Json{{"uri", "brig://kept/" + name}, {"name", name}, {"mimeType", std::move(type)}};
    };
  }
  std::map<std::string, std::string> kept;
};

// A line for each block: its text, its type of image, or the name that it links to.
std::vector<std::string> blocks_of(ToolResult result, const McpView& view) {
  std::vector<std::string> lines;
  const Json answer = mcp_result(std::move(result), nullptr, true, view);
  for (const Json& block : answer["content"])
    lines.push_back(block["type"] == "text"    ? block["text"].get<std::string>()
                    : block["type"] == "image" ? block["mimeType"].get<std::string>()
                                               : "-> " + block["name"].get<std::string>());
  return lines;
}

using Lines = std::vector<std::string>;

TEST(McpBuiltIn, WhatWasDisplayedStandsWhereItWasDisplayed) {
  KeepingView view;
  const Json displays{{{"at", 2}, {"data", {{"image/png", kShownPng}, {"text/plain", "<Figure>"}}}},
                      {{"at", 4}, {"data", {{"text/plain", "plain"}, {"text/html", "<b>"}}}},
                      {{"at", 4}, {"data", {{"text/markdown", "# m"}, {"text/plain", "p"}}}},
                      {{"at", 6}, {"data", {{"text/latex", "$x$"}}}},
                      {{"at", 6}, {"data", {{"application/json", {{"a", 1}}}}}},
                      {{"at", 6}, {"data", {{"image/svg+xml", "<svg/>"}}}},
                      {{"at", 8},
                       {"data",
                        {{"text/plain", "   a\n0  1"},
                         {"text/html", "<table>"},
                         {"application/json", R"({"columns": ["a"], "rows": [[1]]})"}}}}};
  EXPECT_EQ(blocks_of(python_result("a\nb\nc\nd\n", displays, 7), view),
            (Lines{"a\n", "image/png", "b\n", "plain", "-> display-2.html", "# m", "c\n", "$x$",
                   "{\"a\":1}", "-> display-6.svg", "d\n", "   a\n0  1", "-> display-7.html",
                   "-> display-7.json", "value:\n7"}));
  EXPECT_EQ(view.kept["display-2.html"], "<b>");
  EXPECT_EQ(view.kept["display-7.json"], R"({"columns": ["a"], "rows": [[1]]})") << "for programs";
}

TEST(McpBuiltIn, AValueThatWasDisplayedLastStandsThereOnce) {
  const Json displays{{{"at", 2}, {"data", {{"text/plain", "   a\n0  1"}, {"text/html", "<t>"}}}}};
  KeepingView view;
  EXPECT_EQ(blocks_of(python_result("x\n", displays, "   a\n0  1"), view),
            (Lines{"x\n", "   a\n0  1", "-> display-1.html"}));
  EXPECT_EQ(blocks_of(python_result("x\ny", displays, "   a\n0  1"), view).back(),
            "value:\n   a\n0  1")
      << "something was printed after it";
  const Json figure{{{"at", 2}, {"data", {{"image/png", kShownPng}}}, {"is_value", true}}};
  EXPECT_EQ(blocks_of(python_result("x\n", figure, "<Figure size 640x480>"), view),
            (Lines{"x\n", "image/png"}));
}

TEST(McpBuiltIn, WhatWasDisplayedInTheGapStandsAtTheGap) {
  ToolResult result = python_result("", {{{"at", 3}, {"data", {{"text/plain", "first"}}}},
                                         {{"at", 500}, {"data", {{"text/plain", "in the gap"}}}},
                                         {{"at", 1006}, {"data", {{"text/plain", "late"}}}}});
  result.report.out = cut_stream("head\n", 1000, "tail\n");
  EXPECT_EQ(blocks_of(result, KeepingView()),
            (Lines{"hea", "first", "d\n[... 1000 B left out ...]\n", "in the gap", "t", "late",
                   "ail\n"}));
}

TEST(McpBuiltIn, PiecesOfAStreamAreAllOfIt) {
  for (const Output& stream : {stream_with("a\xc3\xa4"
                                           "b\xe2\x82\xac"),
                               stream_with(""), cut_stream("\xc3\xa4x", 77, "y\xc3\xa4")}) {
    const std::uint64_t end = stream.total;
    for (std::uint64_t first = 0; first <= end; ++first)
      for (std::uint64_t second = first; second <= end; ++second) {
        const auto pieces = pieces_of(stream, {first, second});
        ASSERT_EQ(pieces.size(), 3u);
        std::string bytes;
        std::uint64_t total = 0;
        int gaps = 0;
        for (const Output& piece : pieces) {
          EXPECT_TRUE(is_valid_utf8(piece.bytes)) << first << " " << second;
          EXPECT_LE(piece.cut, piece.bytes.size());
          bytes += piece.bytes;
          total += piece.total;
          gaps += piece.truncated;
        }
        EXPECT_EQ(bytes, stream.bytes) << first << " " << second;
        EXPECT_EQ(total, stream.total) << first << " " << second;
        EXPECT_EQ(gaps, stream.truncated) << first << " " << second;
      }
  }
  const auto binary = pieces_of(stream_with("\xff\xfe"), {1});
  EXPECT_EQ(binary[0].bytes, "\xff\xfe") << "not text: it is told as one thing";
  EXPECT_EQ(binary[1].total, 0u);
}

TEST(McpBuiltIn, AFailureKeepsWhatWasDisplayedAndLeft) {
  ToolResult result =
      python_result("before\n", {{{"at", 7}, {"data", {{"image/png", kShownPng}}}}});
  result.report.outcome = Outcome::tool_error;
  result.error = "ValueError: bad";
  result.traceback = "Traceback";
  result.output.erase("value");
  result.output["images"] = {{{"path", "p"}, {"mime_type", "image/png"}, {"data", kShownPng}}};
  result.output["files"] = {{{"path", "f.txt"}, {"size", 1}, {"bytes", Json::binary({'x'})}},
                            {{"path", "big"}, {"size", 9u << 20}, {"left_out", "it is large"}}};
  result.output["files_left_out"] = {{{"why", "there are more than 16"}, {"count", 2}}};
  KeepingView view;
  EXPECT_EQ(blocks_of(result, view),
            (Lines{"tool_error: ValueError: bad", "Traceback", "stdout:\nbefore\n", "image/png",
                   "image/png", "-> f.txt", "['big', 9 MiB: it is large]",
                   "[2 more files of the workspace were not returned: there are more than 16]"}));
  EXPECT_EQ(mcp_result(result, nullptr, true, view)["isError"], true);
}

TEST(McpBuiltIn, LongTextsBetweenDisplaysShareTheRoomAndAreLinkedOnce) {
  Json displays = Json::array();
  std::string out;
  for (int i = 0; i < 10; ++i) {
    out += std::string(10'000, 'x') + "\n";
    displays.push_back({{"at", out.size()}, {"data", {{"text/plain", std::string(5000, 'y')}}}});
  }
  KeepingView view;
  const Lines lines = blocks_of(python_result(out, displays), view);
  std::size_t text = 0;
  for (const std::string& each : lines) text += each.size();
  EXPECT_LT(text, kUsualText + 2000);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "-> stdout"), 1);
  EXPECT_EQ(view.kept["stdout"], out);
  EXPECT_EQ(view.kept["display-1"].size(), 5000u);
}

TEST(McpBuiltIn, ManyAndLargeDisplaysStayWithinAMessage) {
  Json displays = Json::array();
  const std::string large = base64("\x89PNG\r\n\x1a\n" + std::string(900 << 10, 'x'));
  for (int i = 0; i < 40; ++i) displays.push_back({{"at", 0}, {"data", {{"image/png", large}}}});
  KeepingView view;
  const ToolResult result = python_result("", displays);
  EXPECT_LT(json_line(mcp_result(result, nullptr, true, view)).size(), std::size_t{4} << 20);
  EXPECT_EQ(blocks_of(result, view).back(), "[8 more displays are not shown]");
}

}  // namespace
}  // namespace brig::serve
