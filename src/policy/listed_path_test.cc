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

TEST_F(ListedDirectory, AMissingOptionalPathNeedNotBeKeptFromExecution) {
  Policy policy;
  policy.files.read_optional = {make("there"), base_ + "/missing:/opt/missing"};
  policy.files.noexec = {base_ + "/there", base_ + "/missing/"};
  EXPECT_EQ(with_optional_settled(policy).files.noexec, std::vector<std::string>{base_ + "/there"});
  // It could appear where another entry shows it.
  policy.files.read = {base_ + ":/opt/all"};
  EXPECT_THROW(with_optional_settled(policy), Error);
  policy.files.read.clear();
  policy.files.noexec.push_back(base_ + "/unlisted");
  EXPECT_THROW(with_optional_settled(policy), Error);
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
  // .git as a file, and the directory itself as a repository, are missing too.
  EXPECT_EQ(found.missing.size(), protected_names().size() - 3 + 2);
  for (const MissingName& each : found.missing) EXPECT_FALSE(is_there(each)) << each.path;
  EXPECT_FALSE(is_there({repo + "/.envrc"}));
  for (const char* name : {"/.vscode", "/CLAUDE.md", "/CLAUDE.md/x"})
    EXPECT_TRUE(is_there({repo + name})) << name << ": a link in the way counts";
  // A worktree's .git is a file that names another place.
  std::filesystem::remove_all(repo + "/.git");
  std::ofstream(repo + "/.git") << "gitdir: /elsewhere\n";
  EXPECT_EQ(protected_paths(files, listed_entries(files)).present[0], repo + "/.git");
  // A path that leads elsewhere on the way can't be kept.
  std::filesystem::remove(repo + "/.git");
  std::filesystem::create_directory_symlink(make("elsewhere"), repo + "/.config");
  EXPECT_THROW(protected_paths(files, listed_entries(files)), Error);
}

TEST_F(ListedDirectory, ARepositoryMayBeAFileOrTheDirectoryItself) {
  Files files;
  const std::string repo = make("repo");
  files.write = {repo};
  files.protect = {"@default"};
  using Until = MissingName::Until;
  const MissingName git{repo + "/.git", Until::no_directory},
      bare{repo + "/HEAD", Until::git_directory};
  EXPECT_FALSE(is_there(git));
  make("repo/.git");
  EXPECT_FALSE(is_there(git)) << "what counts in it has names of its own";
  std::filesystem::remove(repo + "/.git");
  std::filesystem::create_symlink("nowhere", repo + "/.git");
  EXPECT_TRUE(is_there(git));
  std::filesystem::remove(repo + "/.git");
  std::ofstream(repo + "/.git") << "gitdir: evil\n";
  EXPECT_TRUE(is_there(git));
  std::filesystem::remove(repo + "/.git");
  // A project may have any of these, but not all of them.
  make("repo/objects");
  make("repo/config");
  make("repo/refs");
  EXPECT_FALSE(is_there(bare));
  std::ofstream(repo + "/HEAD") << "ref: refs/heads/x\n";
  EXPECT_TRUE(is_there(bare));
  const ProtectedPaths found = protected_paths(files, listed_entries(files));
  EXPECT_EQ(found.present, (std::vector<std::string>{repo + "/config"}));
  const auto is_missing = [&](const std::string& path) {
    return std::any_of(found.missing.begin(), found.missing.end(),
                       [&](const MissingName& each) { return each.path == path; });
  };
  EXPECT_TRUE(is_missing(repo + "/hooks") && is_missing(repo + "/commondir"));
  EXPECT_FALSE(is_missing(repo + "/HEAD"));
  std::filesystem::remove(repo + "/objects");
  EXPECT_FALSE(is_there(bare));
  std::ofstream(repo + "/commondir") << "evil\n";
  EXPECT_TRUE(is_there(bare)) << "the rest of it is elsewhere";
}

// A path that does not exist covers nothing of what the policy would show at its place.
TEST_F(ListedDirectory, APolicyWithoutItsMissingPathsMustBeOneThatHolds) {
  Policy policy;
  const std::string top = make("p");
  make("p/ro");
  make("p/bin");
  policy.files.write = {top + ":/w"};
  policy.files.read = {top + "/ro"};
  EXPECT_THROW(validate(policy), Error);
  policy.files.read_optional = {base_ + "/none:/w/ro"};
  EXPECT_NO_THROW(validate(policy));
  EXPECT_THROW(with_optional_settled(policy), Error);
  make("none");
  EXPECT_NO_THROW(with_optional_settled(policy));
  policy = Policy();
  policy.files.read = {top + ":/w", top + "/bin"};
  policy.files.noexec = {top + "/bin"};
  EXPECT_THROW(validate(policy), Error);
  policy.files.read_optional = {base_ + "/no:/w/bin"};
  EXPECT_NO_THROW(validate(policy));
  EXPECT_THROW(with_optional_settled(policy), Error);
}

}  // namespace
}  // namespace brig
