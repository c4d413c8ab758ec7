#include "policy/listed_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace brig {
namespace {

std::string both(std::string_view text) {
  const ListedPath listed = listed_path(text);
  return listed.path + " at " + listed.at;
}

TEST(ListedPath, IsPartedAtAColonBeforeASlash) {
  EXPECT_EQ(both("/srv/data"), "/srv/data at /srv/data");
  EXPECT_EQ(both("/srv/data:/data"), "/srv/data at /data");
  EXPECT_EQ(both("/a:b/c:d"), "/a:b/c:d at /a:b/c:d");
  EXPECT_EQ(both("/a:"), "/a: at /a:");
  EXPECT_EQ(both("/a::/b"), "/a: at /b");
  EXPECT_EQ(both("/a\\:/b"), "/a:/b at /a:/b");
  EXPECT_EQ(both("/a\\:/b:/c\\:/d"), "/a:/b at /c:/d");
  EXPECT_EQ(both("/a\\b:/c"), "/a\\b at /c");
  EXPECT_EQ(both(":/c"), " at /c");
  EXPECT_EQ(places_in("/a"), 0u);
  EXPECT_EQ(places_in("/a:/b"), 1u);
  EXPECT_EQ(places_in("/a:/b:/c"), 2u);
  EXPECT_EQ(places_in("/a\\:/b:/c"), 1u);
}

TEST(ListedPath, IsWrittenSoThatItReadsTheSame) {
  for (const std::string path : {"/a", "/a:b", "/a:/b", "/a:", "/a\\:b", "/a\\:/b:/c"})
    for (const std::string at : {"", "/x", "/x:/y", "/x\\:y"}) {
      const ListedPath listed = listed_path(listed_text(path, at));
      EXPECT_EQ(listed.path, path) << listed_text(path, at);
      EXPECT_EQ(listed.at, at.empty() ? path : at) << listed_text(path, at);
    }
}

TEST(ListedEntries, AreFoundByPlaceAndByPathOfTheHost) {
  Files files;
  files.write = {"/repo/", "/repo/.git:/g", "/x:/repo/sub"};
  files.read = {"/data:/d"};
  files.noexec = {"/data"};
  const auto entries = listed_entries(files);
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entry_over(entries, "/repo/a/b")->path, "/repo");
  EXPECT_EQ(entry_over(entries, "/repo/sub/b")->path, "/x");
  EXPECT_EQ(entry_over(entries, "/repository"), nullptr);
  EXPECT_EQ(entry_over(entries, "/"), nullptr);
  EXPECT_FALSE(entry_over(entries, "/d")->executable);
  EXPECT_TRUE(entry_over(entries, "/g")->executable);
  EXPECT_EQ(places_of(entries, "/repo/.git/hooks"),
            (std::vector<std::string>{"/g/hooks", "/repo/.git/hooks"}));
  EXPECT_EQ(places_of(entries, "/repo/sub/x"), std::vector<std::string>{})
      << "another path stands there";
  EXPECT_EQ(places_of(entries, "/x/y"), std::vector<std::string>{"/repo/sub/y"});
  EXPECT_EQ(behind(*entry_over(entries, "/g/hooks"), "/g/hooks"), "/repo/.git/hooks");
}

class ListedDirectory : public testing::Test {
 protected:
  ListedDirectory() {
    char name[] = "/tmp/brig-listed-XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    base_ = name;
  }
  ~ListedDirectory() override { std::filesystem::remove_all(base_); }
  std::string make(const std::string& name) const {
    std::filesystem::create_directories(base_ + "/" + name);
    return base_ + "/" + name;
  }
  std::string base_;
};

TEST_F(ListedDirectory, OptionalPathsAreSettledByWhatIsThere) {
  Policy policy;
  policy.files.read_optional = {make("there") + ":/there", base_ + "/missing",
                                base_ + "/missing/below"};
  policy.files.write_optional = {base_ + "/missing", make("own")};
  const Policy settled = with_optional_settled(policy);
  EXPECT_EQ(settled.files.read, std::vector<std::string>{base_ + "/there:/there"});
  EXPECT_EQ(settled.files.write, std::vector<std::string>{base_ + "/own"});
  EXPECT_TRUE(settled.files.read_optional.empty());
  EXPECT_TRUE(settled.files.write_optional.empty());
  std::filesystem::create_directory_symlink(base_ + "/there", base_ + "/link");
  policy.files.read_optional = {base_ + "/link"};
  EXPECT_THROW(with_optional_settled(policy), Error) << "a symlink is no missing path";
}

TEST_F(ListedDirectory, ProtectsWhatExistsOfTheDefaultNames) {
  Files files;
  const std::string repo = make("repo");
  files.write = {repo};
  files.protect = {"@default"};
  make("repo/.git/hooks");
  make("repo/.vscode");
  std::filesystem::create_symlink("AGENTS.md", repo + "/CLAUDE.md");
  const ProtectedPaths found = protected_paths(files, listed_entries(files));
  EXPECT_EQ(found.present, (std::vector<std::string>{repo + "/.git/hooks", repo + "/.vscode",
                                                     repo + "/CLAUDE.md"}));
  EXPECT_EQ(found.by_default.size(), protected_names().size());
  EXPECT_EQ(
      absent_of({repo + "/.envrc", repo + "/.vscode", repo + "/CLAUDE.md", repo + "/CLAUDE.md/x"}),
      (std::vector<std::string>{repo + "/.envrc"}));
  // A worktree's .git is a file that names another place.
  std::filesystem::remove_all(repo + "/.git");
  std::ofstream(repo + "/.git") << "gitdir: /elsewhere\n";
  EXPECT_EQ(protected_paths(files, listed_entries(files)).present[0], repo + "/.git");
  // What leads elsewhere on the way can't be kept.
  std::filesystem::remove(repo + "/.git");
  std::filesystem::create_directory_symlink(make("elsewhere"), repo + "/.config");
  EXPECT_THROW(protected_paths(files, listed_entries(files)), Error);
}

}  // namespace
}  // namespace brig
