#include "approvals/command_parts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cru::approvals {
namespace {

using Parts = std::vector<Words>;

Fit fit(const CommandParts& command, Words first_words) {
  return may_run(command, {std::move(first_words), true});
}

TEST(CommandParts, OfPlainCommandsAreCertain) {
  const std::pair<std::string_view, Parts> cases[] = {
      {"git status", {{"git", "status"}}},
      {"  git   'st atus' \"a b\" c\\ d  ", {{"git", "st atus", "a b", "c d"}}},
      {"a && b || c; d | e & f", {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}}},
      {"a\nb\n", {{"a"}, {"b"}}},
      {"(a; (b)) && c", {{"a"}, {"b"}, {"c"}}},
      {"npm test 2>&1 >/dev/null | tail -5", {{"npm", "test"}, {"tail", "-5"}}},
      {"a </dev/null 2>/dev/null", {{"a"}}},
      {"sh -c 'a && b x'", {{"a"}, {"b", "x"}}},
      {"bash -c \"sh -c 'a'\" && b", {{"a"}, {"b"}}},
      {"a \"\" ''", {{"a", "", ""}}},
      {"grep -n '$(rm x)' file", {{"grep", "-n", "$(rm x)", "file"}}},
      {"echo \"\\$HOME \\\"x\\\"\"", {{"echo", "$HOME \"x\""}}},
      {"python -m pytest", {{"python", "-m", "pytest"}}},
      {"a2>/dev/null", {{"a2"}}},
  };
  for (const auto& [text, parts] : cases) {
    auto read = parts_of_shell(text);
    EXPECT_EQ(read.doubt, "") << text;
    EXPECT_EQ(read.parts, parts) << text;
  }
}

TEST(CommandParts, AreInDoubtWhereTheShellDecidesWhatIsRun) {
  for (std::string_view text : {"a $(rm x)",
                                "a `rm x`",
                                "a \"$(rm x)\"",
                                "a \"`rm x`\"",
                                "a $HOME",
                                "a ${X}",
                                "a $((1+1))",
                                "a $'x'",
                                "a *.c",
                                "a ?.c",
                                "a [ab]",
                                "a {b,c}",
                                "a ~/x",
                                "a x=~",
                                "A=1 b",
                                "A+=1 b",
                                "A=\"\" b",
                                "A='' b",
                                "A=\\  b",
                                "PATH=/tmp npm test",
                                "a > out.txt",
                                "a >> out.txt",
                                "a >out.txt",
                                "a 2>err",
                                "a < in",
                                "a << X\nrm x\nX",
                                "a <<< x",
                                "a &> x",
                                "a >& x",
                                "a >&2x",
                                "a >&2'x'",
                                "a <(rm x)",
                                "a >(rm x)",
                                "a >| x",
                                "a >",
                                "if a; then b; fi",
                                "for x in a; do b; done",
                                "while a; do b; done",
                                "case a in b) c;; esac",
                                "function f { a; }",
                                "f() { a; }",
                                "{ a; }",
                                "! a",
                                "[[ a ]]",
                                "time a",
                                "coproc a",
                                "cd sub && make",
                                "export A=1; b",
                                "alias a=b",
                                "set -e",
                                "source x",
                                ". x",
                                "eval 'a'",
                                "exec a",
                                "trap a EXIT",
                                "sudo a",
                                "doas a",
                                "env a",
                                "env A=1 b",
                                "xargs a",
                                "nohup a",
                                "timeout 5 a",
                                "nice a",
                                "command a",
                                "builtin a",
                                "ssh host a",
                                "sh x.sh",
                                "sh",
                                "bash -lc 'a'",
                                "bash -c 'a' b",
                                "bash -c 'a $X'",
                                "zsh -c 'a'",
                                "/usr/bin/env a",
                                "/tmp/sh -c 'a'",
                                "busybox a",
                                "a 'b",
                                "a \"b",
                                "a \\",
                                "a \\\nb",
                                "(a",
                                "a)",
                                "(a) b",
                                "((a))",
                                "a ( b )",
                                "a && && b",
                                "; a",
                                "| a",
                                "a ;; b",
                                "a # b",
                                "#a",
                                "a \x01",
                                "a\rb",
                                "",
                                "  ",
                                "\n",
                                "=a",
                                "''",
                                "'a' && ''"})
    EXPECT_NE(parts_of_shell(text).doubt, "") << text;
  EXPECT_NE(parts_of_shell(std::string(20'000, 'a')).doubt, "");
  std::string many;
  for (int i = 0; i < 70; ++i) many += "a;";
  EXPECT_NE(parts_of_shell(many).doubt, "");
  std::string deep = "a";
  for (int i = 0; i < 12; ++i) {
    std::string quoted;
    for (char c : deep) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    deep = "sh -c '" + quoted + "'";
  }
  EXPECT_NE(parts_of_shell(deep).doubt, "");
}

TEST(CommandParts, ThatMayBeRunAreFoundWhereverTheyStand) {
  for (std::string_view text : {"rm x",
                                "a && rm x",
                                "a; rm x",
                                "a | rm x",
                                "a || rm x",
                                "a & rm x",
                                "a\nrm x",
                                "(rm x)",
                                "{ rm x; }",
                                "a $(rm x)",
                                "a \"$(rm x)\"",
                                "a `rm x`",
                                "a <(rm x)",
                                "A=1 rm x",
                                "A=1 B=2 rm x",
                                "rm x > out",
                                "> out rm x",
                                "if a; then rm x; fi",
                                "while a; do rm x; done",
                                "! rm x",
                                "sudo rm x",
                                "sudo -u root rm x",
                                "env A=1 rm x",
                                "env -i rm x",
                                "xargs rm x",
                                "timeout 5 rm x",
                                "nohup rm x &",
                                "sh -c 'rm x'",
                                "bash -lc 'a; rm x'",
                                "sudo sh -c 'a && rm x'",
                                "eval 'rm x'",
                                "eval rm x",
                                "exec rm x",
                                "find . -exec rm x {} ;",
                                "cd sub && rm x",
                                "zsh -c \"sudo rm x\"",
                                "ssh host 'rm x'",
                                "bash <<X\nrm x\nX\n",
                                "busybox rm x",
                                "A=\"\" rm x",
                                "A='' B=\"c d\" rm x",
                                "find . -exec rm x \\;",
                                "find . -execdir rm x +",
                                "npx rm x",
                                "docker run -it image rm x",
                                "cru run -- rm x",
                                "trap 'rm x' EXIT",
                                "trap \"a; rm x\" EXIT",
                                "a $(b $(rm x))"})
    EXPECT_EQ(fit(parts_of_shell(text), {"rm", "x"}), Fit::yes) << text;
}

TEST(CommandParts, OfWhichNobodyCanTellWhatTheyRunArePerhapsAnything) {
  for (std::string_view text :
       {"echo 'rm x'", "git commit -m 'rm x'", "grep 'rm x' file", "echo rm x", "tmuxinator new 'rm x'",
        "newstarter rm x", "echo rm x | sh", "cat x | bash", "awk 'BEGIN{system(\"rm x\")}'",
        "python3 -c 'import os; os.system(\"rm x\")'", "node x.mjs", "make clean", "$A $B", "./a > b",
        "vim -c '!rm x'", "sh x.sh"})
    EXPECT_EQ(fit(parts_of_shell(text), {"rm", "x"}), Fit::perhaps) << text;
  for (std::string_view text : {"git status", "echo 'remove x'", "grep -n rm file", "rm y", "a && b | c"})
    EXPECT_EQ(fit(parts_of_shell(text), {"rm", "x"}), Fit::no) << text;
}

TEST(CommandParts, ThatAreNotReadWholeAreNeverCertain) {
  auto padded = "echo " + std::string(17'000, 'a') + "; rm x";
  EXPECT_EQ(fit(parts_of_shell(padded), {"rm", "x"}), Fit::perhaps);
  std::string many;
  for (int i = 0; i < 1200; ++i) many += "a;";
  EXPECT_EQ(fit(parts_of_shell(many + "rm x"), {"rm", "x"}), Fit::perhaps);
  EXPECT_EQ(fit(parts_of_argv(Words{"awk", padded}), {"rm", "x"}), Fit::perhaps);
  EXPECT_FALSE(parts_of_argv(Words{"awk", padded}).is_certain());
  // What only stands in a message does not take the certainty from the command itself.
  auto message = parts_of_argv(Words{"git", "commit", "-m", many + "rm y"});
  EXPECT_TRUE(message.is_certain());
  EXPECT_EQ(fit(message, {"rm", "x"}), Fit::perhaps);
}

TEST(CommandParts, OfArgumentsAreReadByNoShell) {
  EXPECT_EQ(parts_of_argv(Words{"echo", "$(rm x)", "*"}).parts, (Parts{{"echo", "$(rm x)", "*"}}));
  EXPECT_TRUE(parts_of_argv(Words{"echo", "$(rm x)", "*"}).is_certain());
  EXPECT_EQ(parts_of_argv(Words{"sh", "-c", "a && b"}).parts, (Parts{{"a"}, {"b"}}));
  for (const auto& words : {Words{}, Words{""}, Words{"sh", "x.sh"}, Words{"sh", "-c", "a $X"},
                            Words{"sudo", "a"}, Words{"env", "a"}, Words{"xargs", "a"}})
    EXPECT_FALSE(parts_of_argv(words).is_certain()) << (words.empty() ? "" : words[0]);
  EXPECT_EQ(fit(parts_of_argv(Words{"sudo", "sh", "-c", "a; rm x"}), {"rm", "x"}), Fit::yes);
  EXPECT_EQ(fit(parts_of_argv(Words{"find", ".", "-exec", "rm", "x", ";"}), {"rm", "x"}), Fit::yes);
}

}  // namespace
}  // namespace cru::approvals
