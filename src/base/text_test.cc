#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <clocale>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace brig {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Size, IsBytesWithoutAUnit) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("100"), 100u);
  EXPECT_EQ(parse_size("100B"), 100u);
  EXPECT_EQ(parse_size("18446744073709551615"), kMax);
}

TEST(Size, UnitsAre1024BasedInEverySpelling) {
  for (const char* text : {"64K", "64k", "64KB", "64kb", "64KiB", "64kib", "64 KiB", "64 K"}) {
    EXPECT_EQ(parse_size(text), 64u << 10) << text;
  }
  EXPECT_EQ(parse_size("512M"), 512u << 20);
  EXPECT_EQ(parse_size("1MB"), 1u << 20);
  EXPECT_EQ(parse_size("2G"), 2ull << 30);
  EXPECT_EQ(parse_size("3T"), 3ull << 40);
  EXPECT_EQ(parse_size("4P"), 4ull << 50);
  EXPECT_EQ(parse_size("15E"), 15ull << 60);
}

TEST(Size, AFractionOfAUnitIsExactAndAPartOfAByteIsDropped) {
  for (const char* text : {"1.5G", "1.5g", "1.50G", "1.5GB", "1.5 GiB", "1.500000000000000000000G"})
    EXPECT_EQ(parse_size(text), 3ull << 29) << text;
  EXPECT_EQ(parse_size("0.5 GiB"), 1ull << 29);
  EXPECT_EQ(parse_size("0.25K"), 256u);
  EXPECT_EQ(parse_size("0.001K"), 1u) << "1.024 bytes";
  EXPECT_EQ(parse_size("0.3G"), 322122547u) << "and a fifth";
  EXPECT_EQ(parse_size("0.0K"), 0u);
  EXPECT_EQ(parse_size("1.000000000000000001E"), (1ull << 60) + 1);
  EXPECT_EQ(parse_size("0.999999999999999999K"), 1023u);
  EXPECT_EQ(parse_size("15.999999999999999999E"), kMax - 1) << "of the 18 digits a double has 16";
  EXPECT_EQ(parse_size("16.0E"), std::nullopt);
}

TEST(User, IsRootOrANumber) {
  EXPECT_EQ(parse_user("root"), 0u);
  EXPECT_EQ(parse_user("0"), 0u);
  EXPECT_EQ(parse_user("4294967295"), 4294967295u);
  for (const std::string& text : {""s, "Root"s, "brig"s, "-1"s, "+1"s, " 1"s, "1 "s, "1.0"s, "0x1"s,
                                  "4294967296"s, "99999999999999999999"s, "1\0"s})
    EXPECT_EQ(parse_user(text), std::nullopt) << in_quotes(text);
}

TEST(Size, OverflowIsRefused) {
  for (const char* text :
       {"18446744073709551616", "99999999999999999999999", "16E", "16384P", "18014398509481984K"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_size("18014398509481983K"), 18014398509481983ull << 10);
}

TEST(Size, AnythingElseIsRefused) {
  for (const std::string& text : {""s,
                                  " "s,
                                  "K"s,
                                  "-1"s,
                                  "+1"s,
                                  "1.5"s,
                                  "1.5B"s,
                                  "1.0"s,
                                  "1.G"s,
                                  ".5G"s,
                                  "1..5G"s,
                                  "1.5.5G"s,
                                  "1,5G"s,
                                  "-1.5G"s,
                                  "1.5e3K"s,
                                  "1. 5G"s,
                                  "1.5  G"s,
                                  "0.0001K"s,
                                  "0.1234567890123456789G"s,
                                  "1 "s,
                                  " 1"s,
                                  "1  K"s,
                                  "1Ki"s,
                                  "1X"s,
                                  "1KK"s,
                                  "1Bi"s,
                                  "1BB"s,
                                  "1iB"s,
                                  "1KiBs"s,
                                  "0x10"s,
                                  "1e3"s,
                                  "1\0"s,
                                  "1K\0"s,
                                  "1,000"s,
                                  std::string(65, '1'),
                                  std::string(100, '0')}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << in_quotes(text);
  }
}

TEST(Duration, IsSecondsWithoutAUnit) {
  EXPECT_EQ(parse_duration("0"), 0ms);
  EXPECT_EQ(parse_duration("10"), 10s);
  EXPECT_EQ(parse_duration("1.5"), 1500ms);
}

TEST(Duration, TakesAUnit) {
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("10s"), 10s);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("1.5 s"), 1500ms);
  EXPECT_EQ(parse_duration("2m"), 2min);
  EXPECT_EQ(parse_duration("2 min"), 2min);
  EXPECT_EQ(parse_duration("1h"), 1h);
  EXPECT_EQ(parse_duration("0.25h"), 15min);
}

TEST(Duration, RoundsToAMillisecondButOnlyZeroBecomesZero) {
  EXPECT_EQ(parse_duration("1.0004s"), 1000ms);
  EXPECT_EQ(parse_duration("1.0005s"), 1001ms);
  EXPECT_EQ(parse_duration("0.1ms"), 1ms);
  EXPECT_EQ(parse_duration("0.00000000000000000001s"), 1ms);
  EXPECT_EQ(parse_duration("0.000s"), 0ms);
  EXPECT_EQ(parse_duration("0.99999999999999999999"), 1s);
}

TEST(Duration, AnythingElseIsRefused) {
  for (const std::string& text : {""s,     "s"s,
                                  "-1s"s,  "-0"s,
                                  "+1s"s,  "nan"s,
                                  "inf"s,  "1e3"s,
                                  ".5s"s,  "5.s"s,
                                  "1.s"s,  "1..5s"s,
                                  "1,5s"s, "1S"s,
                                  "1MS"s,  "1 "s,
                                  " 1s"s,  "1  s"s,
                                  "1d"s,   "1h30m"s,
                                  "1s\0"s, std::string(65, '0')}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << in_quotes(text);
  }
}

TEST(Duration, OverflowIsRefused) {
  for (const char* text : {"18446744073709551616", "18446744073709551615h", "9223372036854775807ms",
                           "876000.0001h", "876001h", "3153600000001ms"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
  // The largest can be added to a clock that counts nanoseconds.
  ASSERT_EQ(parse_duration("876000h"), milliseconds(3153600000000));
  EXPECT_GT(std::chrono::nanoseconds(*parse_duration("876000h")).count(), 0);
}

TEST(Duration, ComesFromANumberOfSeconds) {
  EXPECT_EQ(duration_from_seconds(0), 0ms);
  EXPECT_EQ(duration_from_seconds(0.07), 70ms);
  EXPECT_EQ(duration_from_seconds(1.001), 1001ms);
  EXPECT_EQ(duration_from_seconds(1e-12), 1ms);
  for (const double bad : {-1.0, -1e-9, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300, 3153600001.0}) {
    EXPECT_EQ(duration_from_seconds(bad), std::nullopt) << bad;
  }
}

TEST(Size, FormatsForPeople) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1024), "1 KiB");
  EXPECT_EQ(format_size(102400), "100 KiB");
  EXPECT_EQ(format_size(1536), "1.5 KiB");
  EXPECT_EQ(format_size(512ull << 20), "512 MiB");
  EXPECT_EQ(format_size((1ull << 20) - 1), "1 MiB");
  EXPECT_EQ(format_size(1ull << 60), "1 EiB");
  EXPECT_EQ(format_size(kMax), "16 EiB");
}

TEST(Size, AWholeNumberOfUnitsReadsBackTheSame) {
  for (unsigned shift = 0; shift <= 60; ++shift) {
    EXPECT_EQ(parse_size(format_size(1ull << shift)), 1ull << shift) << shift;
  }
}

TEST(Duration, FormatsForPeople) {
  EXPECT_EQ(format_duration(0ms), "0 ms");
  EXPECT_EQ(format_duration(999ms), "999 ms");
  EXPECT_EQ(format_duration(1500ms), "1.5 s");
  EXPECT_EQ(format_duration(1001ms), "1.001 s");
  EXPECT_EQ(format_duration(30s), "30 s");
  EXPECT_EQ(format_duration(90s), "90 s");
  EXPECT_EQ(format_duration(120s), "2 min");
  EXPECT_EQ(format_duration(24h), "24 h");
  EXPECT_EQ(format_duration(-1500ms), "-1.5 s");
  EXPECT_EQ(format_duration(milliseconds::min()), "-9223372036854775.808 s");
}

TEST(Duration, WhatIsFormattedReadsBackTheSame) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const milliseconds value(static_cast<std::int64_t>(random() >> (23 + random() % 40)) %
                             3'153'600'000'000);
    EXPECT_EQ(parse_duration(format_duration(value)), value) << value.count();
  }
}

TEST(Text, DoesNotReadTheLocale) {
  for (const char* locale : {"de_DE.UTF-8", "tr_TR.UTF-8"}) {
    if (std::setlocale(LC_ALL, locale) == nullptr) continue;  // not installed: nothing to show
    EXPECT_EQ(parse_duration("1.5s"), 1500ms);
    EXPECT_EQ(format_duration(1500ms), "1.5 s");
    EXPECT_EQ(parse_size("1KIB"), 1024u);
  }
  std::setlocale(LC_ALL, "C");
}

constexpr std::array<std::string_view, 5> kWords = {"memory", "processes", "wall_time", "output",
                                                    "output_total"};

TEST(Nearest, FindsATypingError) {
  EXPECT_EQ(nearest("memroy", kWords), "memory");
  EXPECT_EQ(nearest("memry", kWords), "memory");
  EXPECT_EQ(nearest("Memory", kWords), "memory");
  EXPECT_EQ(nearest("MEMORY", kWords), "memory");
  EXPECT_EQ(nearest("walltime", kWords), "wall_time");
  EXPECT_EQ(nearest("wall-time", kWords), "wall_time");
  EXPECT_EQ(nearest("process", kWords), "processes");
  EXPECT_EQ(nearest("outputs", kWords), "output");
}

TEST(Nearest, FindsNothingInAnotherWord) {
  for (const std::string& word :
       {""s, "x"s, "network"s, "banana"s, std::string(65, 'm'), std::string(1 << 20, 'm')}) {
    EXPECT_EQ(nearest(word, kWords), std::nullopt) << word.substr(0, 20);
  }
  constexpr std::array<std::string_view, 2> kShort = {"a", ""};
  EXPECT_EQ(nearest("b", kShort), std::nullopt);
  EXPECT_EQ(nearest("memory", {}), std::nullopt);
}

TEST(Nearest, TakesTheFirstOfEquals) {
  constexpr std::array<std::string_view, 2> kTwo = {"read", "reap"};
  EXPECT_EQ(nearest("reaq", kTwo), "read");
}

TEST(InQuotes, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(in_quotes("/tmp"), "'/tmp'");
  EXPECT_EQ(in_quotes("a\0b\n\x1b[31m\x7f"s), "'a\\x00b\\x0a\\x1b[31m\\x7f'");
  EXPECT_EQ(in_quotes("gr\xC3\xBC\xC3\x9F"), "'gr\xC3\xBC\xC3\x9F'");
  EXPECT_EQ(in_quotes("\xFF\xC3"), "'\\xff\\xc3'");
}

TEST(InQuotes, ShowsC1ControlsAndWhatChangesTheDirectionOfText) {
  EXPECT_EQ(in_quotes("a\u009B31mb"), "'a\\u009b31mb'");
  EXPECT_EQ(in_quotes("\u0080\u009F\u00A0"), "'\\u0080\\u009f\u00A0'");
  EXPECT_EQ(in_quotes("x\u202Egpj.exe"), "'x\\u202egpj.exe'");
  for (const auto& [text, shown] : {std::pair("\u061C", "\\u061c"),
                                    {"\u200E", "\\u200e"},
                                    {"\u200F", "\\u200f"},
                                    {"\u2028", "\\u2028"},
                                    {"\u2029", "\\u2029"},
                                    {"\u202A", "\\u202a"},
                                    {"\u2066", "\\u2066"},
                                    {"\u2069", "\\u2069"}})
    EXPECT_EQ(printable(text), shown);
  // Their neighbours, and scripts that run from right to left by themselves.
  for (const char* text :
       {"\u200D", "\u2027", "\u202F", "\u2065", "\u206A", "\u05D0", "\u0627", "\U0001F600"})
    EXPECT_EQ(printable(text), text);
}

TEST(PrintableJson, MeansTheSameAndHoldsNothingThatATerminalObeys) {
  EXPECT_EQ(printable_json("{\n \"a\": \"\u009B\u202E\x7F\u00FC\"}"),
            "{\n \"a\": \"\\u009b\\u202e\\u007f\u00FC\"}");
}

TEST(InQuotes, CutsWhatIsLongBetweenCodePoints) {
  EXPECT_EQ(in_quotes(std::string(200, 'a')), "'" + std::string(200, 'a') + "'");
  EXPECT_EQ(in_quotes(std::string(201, 'a')), "'" + std::string(200, 'a') + "...'");
  EXPECT_EQ(in_quotes(std::string(199, 'a') + "\xC3\xBC"), "'" + std::string(199, 'a') + "...'");
}

// The definition, not the code: decode by the table of RFC 3629, refuse by value.
bool naive_utf8(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const auto at = [&](std::size_t k) { return static_cast<unsigned char>(bytes[k]); };
    const unsigned char lead = at(i);
    const std::size_t n = lead < 0x80             ? 1
                          : (lead & 0xE0) == 0xC0 ? 2
                          : (lead & 0xF0) == 0xE0 ? 3
                          : (lead & 0xF8) == 0xF0 ? 4
                                                  : 0;
    if (n == 0 || i + n > bytes.size()) return false;
    std::uint32_t point = n == 1 ? lead : lead & (0x7Fu >> n);
    for (std::size_t k = 1; k < n; ++k) {
      if ((at(i + k) & 0xC0) != 0x80) return false;
      point = point << 6 | (at(i + k) & 0x3F);
    }
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLeast[n] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return false;
    i += n;
  }
  return true;
}

std::string encode(std::uint32_t point) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xC0 | point >> 6), byte(0x80 | (point & 63))};
  if (point < 0x10000) {
    return {byte(0xE0 | point >> 12), byte(0x80 | (point >> 6 & 63)), byte(0x80 | (point & 63))};
  }
  return {byte(0xF0 | point >> 18), byte(0x80 | (point >> 12 & 63)), byte(0x80 | (point >> 6 & 63)),
          byte(0x80 | (point & 63))};
}

TEST(Utf8, EveryCodePointIsValidButSurrogatesAndWhatIsAbove10FFFF) {
  for (std::uint32_t point = 0; point < 0x120000; ++point) {
    const bool valid = point <= 0x10FFFF && !(point >= 0xD800 && point <= 0xDFFF);
    ASSERT_EQ(is_valid_utf8(encode(point)), valid) << point;
  }
}

TEST(Utf8, RefusesOverlongFormsAndStrayBytes) {
  for (const char* text : {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF",
                           "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xF8\x88\x80\x80\x80", "\x80",
                           "\xBF", "\xFE", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC3(",
                           "\xE2(\xA1", "\xED\xA0\x80", "\xF4\x90\x80\x80", "12345678\xFF"}) {
    EXPECT_FALSE(is_valid_utf8(text)) << in_quotes(text);
  }
  EXPECT_TRUE(is_valid_utf8(""));
  EXPECT_TRUE(is_valid_utf8("\0"s));
}

TEST(Utf8, AgreesWithTheDefinitionOnEveryThreeBytesThatMatter) {
  // All first and second bytes, third bytes at the borders; before and after a word of ASCII.
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      for (const int c : {0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF}) {
        for (const int d : {0x41, 0x80, 0xBF, 0xC0}) {
          const std::string text{static_cast<char>(a), static_cast<char>(b), static_cast<char>(c),
                                 static_cast<char>(d)};
          ASSERT_EQ(is_valid_utf8(text), naive_utf8(text)) << in_quotes(text);
        }
      }
    }
  }
}

TEST(Utf8, AgreesWithTheDefinitionOnRandomText) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const std::size_t points = random() % 20;
    for (std::size_t i = 0; i < points; ++i) {
      text += encode(static_cast<std::uint32_t>(random() >> (11 + random() % 20)));
    }
    // Half the time, break it: a byte changed, removed, or the end cut.
    if (!text.empty() && random() % 2 == 0) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1); break;
        default: text.resize(at);
      }
    }
    ASSERT_EQ(is_valid_utf8(text), naive_utf8(text)) << in_quotes(text);
  }
}

TEST(Utf8, ACutCodePointIsFoundAtEitherEdge) {
  for (const std::uint32_t point : {0xFCu, 0x20ACu, 0xD7FFu, 0xE000u, 0x1F600u, 0x10FFFFu}) {
    const std::string text = encode(point);
    for (std::size_t n = 1; n < text.size(); ++n) {
      EXPECT_EQ(utf8_cut_at_end("abc" + text.substr(0, n)), n);
      EXPECT_EQ(utf8_cut_at_end(text.substr(0, n)), n);
      EXPECT_EQ(utf8_cut_at_start(text.substr(n) + "abc"), text.size() - n);
      EXPECT_EQ(utf8_cut_at_start(text.substr(n)), text.size() - n);
    }
    EXPECT_EQ(utf8_cut_at_end("abc" + text), 0u);
    EXPECT_EQ(utf8_cut_at_start(text), 0u);
  }
}

TEST(Utf8, BinaryIsNotTakenForACutCodePoint) {
  EXPECT_EQ(utf8_cut_at_end(""), 0u);
  EXPECT_EQ(utf8_cut_at_end("abc"), 0u);
  EXPECT_EQ(utf8_cut_at_end("\xFF"), 0u);
  EXPECT_EQ(utf8_cut_at_end("\x80\x80\x80"), 0u);
  EXPECT_EQ(utf8_cut_at_end("\xE0\x80"), 0u);  // overlong: never a code point
  EXPECT_EQ(utf8_cut_at_end("\xED\xA0"), 0u);  // surrogate
  EXPECT_EQ(utf8_cut_at_start(""), 0u);
  EXPECT_EQ(utf8_cut_at_start("\xFF"), 0u);
  EXPECT_EQ(utf8_cut_at_start("\x80\x80\x80\x80"), 0u);
}

TEST(Base64, MatchesTheVectorsOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFF\xFE\xFB\x00"s), "//77AA==");
}

TEST(Base64, IsReadStrictly) {
  EXPECT_EQ(base64_decoded("//77AA=="), "\xFF\xFE\xFB\x00"s);
  for (const char* good : {"", "AA==", "AAA=", "AAAA", "/+8="})
    EXPECT_EQ(base64(base64_decoded(good).value()), good);
  for (const char* bad : {"A", "AA", "A===", "AA=A", "AA A", "AAA\xff", "===="})
    EXPECT_EQ(base64_decoded(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace brig
