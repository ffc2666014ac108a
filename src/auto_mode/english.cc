#include "auto_mode/english.h"

#include <algorithm>

#include "base/text.h"

namespace cru::auto_mode::english {
namespace {

/// Whether a list of words with blanks around them has this one.
bool has(std::string_view list, std::string_view word) {
  if (word.empty() || word.contains(' ')) return false;
  for (auto at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1))
    if (at > 0 && list[at - 1] == ' ' && at + word.size() < list.size() && list[at + word.size()] == ' ')
      return true;
  return false;
}

constexpr std::string_view modals =
    " should shall must can could may might will would ought shouldn't mustn't can't couldn't won't "
    "wouldn't ";
constexpr std::string_view other_auxiliaries =
    " do does did have has had don't doesn't didn't haven't hasn't hadn't ";
constexpr std::string_view forms_of_be = " is are was were am isn't aren't wasn't weren't ";
constexpr std::string_view question_words = " who whom whose what which when where why how ";
constexpr std::string_view determiners =
    " a an the this that these those my your our their his her its every each all any some no another both "
    "either neither many much most few more less several one two three four five ten ";
constexpr std::string_view prepositions =
    " of in on at by for from with without to into onto over under about against between among through "
    "during after before since until as than like via per across behind beyond within around near ";
constexpr std::string_view others =
    " i me we us you he him she it they them not and or but if then so because though although while whether "
    "be been being there here very too also just only even still ever never always really actually perhaps "
    "vs versus yes get got let's lets than's people thing things way please going gonna "
    "cannot ourselves themselves myself yourself what's who's it's that's there's i'm ";
constexpr std::string_view pronouns =
    " i we you he she it they one everyone everybody someone somebody nobody anyone anybody there people "
    "humans mankind humanity children parents men women students teachers companies governments schools "
    "countries cities ";
constexpr std::string_view verbs =
    " be become have get give take make go come see know think believe feel keep let begin bring hold write "
    "provide allow lead understand set learn include continue create spend grow open win teach offer "
    "remember consider appear buy serve die send build fall reach remain suggest raise pay sell require "
    "decide pull eat choose eliminate replace abolish ban adopt legalise legalize forbid prohibit introduce "
    "avoid own wear drink drive steal sing lie exist belong matter happen survive destroy save improve "
    "invest migrate rewrite refactor deploy delete remove add hire fire cancel protect prevent reduce "
    "increase encourage defend tolerate trust forgive forget punish tax obey disobey reject accept "
    "accomplish "
    "achieve solve fix cure conquer colonise colonize explore discover invent translate read speak listen "
    "hear tell ask need want like love hate prefer deserve ignore explain describe discuss cook bake fly "
    "swim "
    "walk sleep dream live breathe marry divorce quit retire emigrate immigrate celebrate apologise "
    "apologize "
    "compete cooperate collaborate collapse overtake outperform regulate nationalise privatise subsidise "
    "fund "
    "finance enforce implement organise organize automate monetise depend differ enable ensure establish "
    "expect fail find follow gain imply inform insist interfere involve judge join lend borrow lose maintain "
    "mean meet merge miss move negotiate notice obtain occur oppose outlaw overcome persuade possess predict "
    "pretend proceed produce promise prove publish pursue put receive recognise recognize refuse reinstate "
    "rely renew repair resign respect restrict return reveal run sacrifice satisfy seek seem sit smile stand "
    "stay stop succeed suffer survey think throw treat try undo unite upgrade vanish wait watch weigh "
    "wonder worry kill eradicate resurrect clone edit ";
/// They are nouns as well.
constexpr std::string_view verbs_or_nouns =
    " work change use vote plan study help play turn start show call move talk cost look care act answer "
    "attack balance benefit block book break build campaign charge check claim close compromise control "
    "copy cover cut damage dance deal debate delay design dictate do doubt drop dress end escape estimate "
    "exchange exercise face farm fear fight film fish focus force form gamble guide harm hope hunt hurry "
    "impact influence intend interest interview iterate join joke jump label land laugh launch leave limit "
    "link list lock log mark market measure milk mind mine model name note number object order outsource "
    "pass "
    "patch pause pet phone picture plant point police post power practice practise press price process "
    "profit "
    "program protest push question quote race rank rate reason record release rent report request rescue "
    "research rest review reward ride rise risk rule sail scale score search share ship shop shout sign "
    "smell "
    "smoke sound spread stage strike stress stretch struggle supply support surprise surrender switch target "
    "taste test touch track trade train transport travel trick value visit voice wage war waste water win "
    "wish "
    "rock suck ";
constexpr std::string_view adjectives =
    " ok okay good bad evil dead alive right wrong true false possible impossible necessary enough easier "
    "harder "
    "important able likely better worse best worst worth overrated underrated good-looking flat round real "
    "fake free fair unfair safe dangerous healthy unhealthy cheap expensive rich poor happy sad hot cold wet "
    "dry "
    "fast slow hard easy old new young big small large great obsolete illegal legal moral immoral ethical "
    "unethical useful useless harmful beautiful ugly smart stupid sustainable inevitable conscious sentient "
    "stable broken doomed finished alone full empty blue red green black white ready sufficient equal "
    "natural "
    "dead-end infinite finite cruel kind sane insane cool boring fun wise foolish human vegan ";
constexpr std::string_view adverbs =
    " still ever never always really actually just only also even too so more most less very quite truly "
    "already again often sometimes all both finally ";
constexpr std::string_view mass_nouns =
    " love work money time power music art life death war peace food water coffee tea pizza pineapple change "
    "education software code data space history truth beauty trust climate sleep sport health wealth poverty "
    "crime sex gender race religion faith god hope fear hate joy boredom loneliness fame luck nature science "
    "technology ai weather rain snow sugar salt chocolate cheese bread wine beer milk rice meat energy oil "
    "gas "
    "gold privacy democracy capitalism socialism knowledge wisdom intelligence research school college "
    "university breakfast lunch dinner jazz poetry literature philosophy football chess tennis golf yoga "
    "inflation tax unemployment housing traffic tourism travel advertising marketing debt credit insurance "
    "open-source remote email spam sand fire earth ";
constexpr std::string_view names =
    " english german french spanish italian chinese japanese russian latin europe america africa asia "
    "australia "
    "germany france spain italy china japan russia india brazil england britain london paris berlin rome "
    "tokyo "
    "vienna mars venus jupiter moon earth's monday tuesday wednesday thursday friday saturday sunday january "
    "february april june july august september october november december christmas easter ramadan halloween "
    "google apple microsoft amazon facebook meta openai anthropic claude codex python java javascript "
    "typescript "
    "rust go golang kotlin swift ruby perl haskell erlang elixir scala lisp fortran cobol linux windows "
    "android "
    "kubernetes docker postgres mysql redis react angular vue vim emacs git github bitcoin ethereum tolkien "
    "shakespeare plato aristotle kant nietzsche marx darwin einstein newton beethoven mozart bach picasso "
    "jesus buddha islam christianity buddhism hinduism judaism nato un eu uk usa tesla netflix spotify "
    "wikipedia "
    "hamlet macbeth batman superman star twitter tiktok instagram youtube ";
/// Of German, French and Spanish, and not of English.
constexpr std::string_view foreign_words =
    " der das und oder ist sind nicht ein eine einen einem einer wir ich sie ihr soll sollen sollte sollten "
    "warum wieso weshalb wie wer wann für mit kein keine wird werden kann können muss müssen darf dürfen "
    "auch "
    "zum zur den dem des auf aus bei nach ob wenn dass sich mehr als von uns unser "
    "le les est une pourquoi faut nous vous je il elle et ou pas dans pour avec quoi quel quelle doit devons "
    "el los las por qué para una es cómo cuándo debe debemos y ";

bool is_vowel(char c) { return std::string_view("aeiou").contains(c); }

/// Two bytes and more that open and close a quotation.
constexpr std::string_view openers[] = {"\"", "“", "„", "«", "'", "‘"};
constexpr std::string_view closers[] = {"\"", "”", "“", "»", "'", "’"};

bool opens(std::string_view text) {
  return std::ranges::any_of(openers, [&](auto one) { return text.starts_with(one); });
}
bool closes(std::string_view text) {
  text = trim(text, ".,;:!?)");
  return std::ranges::any_of(closers,
                             [&](auto one) { return text.size() > one.size() && text.ends_with(one); });
}

constexpr std::string_view punctuation = ".,;:!?()[]{}\"'`*_~<>";

/// Letters of another script than ours.
bool has_other_script(std::string_view text) {
  for (; !text.empty();) {
    auto point = first_code_point(text);
    auto c = point.value;
    if (point.valid && c >= 0x370 && !(c >= 0x2000 && c < 0x2E80) && c < 0xE000) return true;
    text.remove_prefix(point.length);
  }
  return false;
}

}  // namespace

std::string_view without_marks(std::string_view text) {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    auto bare = trim(text, punctuation);
    for (auto one : {"“", "”", "„", "«", "»", "‘", "’", "…", "¿", "¡"}) {
      if (bare.starts_with(one)) bare.remove_prefix(std::string_view(one).size());
      if (bare.ends_with(one)) bare.remove_suffix(std::string_view(one).size());
    }
    if (bare.size() != text.size()) is_changed = true;
    text = bare;
  }
  return text;
}

std::string_view without_closing_marks(std::string_view text) {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    text = trim(text);
    for (std::string_view one : {"\"", "'", ")", "”", "’", "»"})
      if (text.ends_with(one)) {
        text.remove_suffix(one.size());
        is_changed = true;
      }
  }
  return text;
}

Words words_of(std::string_view text) {
  Words out;
  size_t quoted_from = 0;
  bool is_quoted = false;
  constexpr size_t longest_quotation = 12;
  for (auto rest = trim(text); !rest.empty(); rest = trim(rest)) {
    auto one = rest.substr(0, rest.find_first_of(" \t\r\n"));
    rest.remove_prefix(one.size());
    std::string clean;
    for (char c : one)
      if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) clean += c;
    if (clean.empty()) continue;
    if (to_lower(without_marks(clean)) == "will" && !out.empty() && out.back().plain == "free") {
      out.back().text += " " + clean;  // not the verb
      out.back().plain += " will";
      continue;
    }
    out.push_back({clean, to_lower(without_marks(clean))});
    if (!is_quoted && opens(clean) && !closes(clean)) {
      is_quoted = true;
      quoted_from = out.size() - 1;
    } else if (is_quoted && closes(clean)) {
      is_quoted = false;
      Word all;
      for (auto i = quoted_from; i < out.size(); ++i) all.text += (i > quoted_from ? " " : "") + out[i].text;
      all.plain = to_lower(without_marks(all.text));
      out.resize(quoted_from);
      out.push_back(std::move(all));
    } else if (is_quoted && out.size() - quoted_from > longest_quotation) {
      is_quoted = false;
    }
  }
  return out;
}

std::string joined(WordSpan words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word.text;
  while (!out.empty() && std::string_view(".,;:!?").contains(out.back())) out.pop_back();
  return out;
}

bool is_be(std::string_view word) { return has(forms_of_be, word); }
bool is_auxiliary(std::string_view word) {
  return has(modals, word) || has(other_auxiliaries, word) || is_be(word);
}
bool is_question_word(std::string_view word) { return has(question_words, word); }
bool is_determiner(std::string_view word) { return has(determiners, word); }
bool is_preposition(std::string_view word) { return has(prepositions, word); }
bool is_function_word(std::string_view word) {
  return word.empty() || is_auxiliary(word) || is_question_word(word) || is_determiner(word) ||
         is_preposition(word) || has(others, word) || has(foreign_words, word);
}
bool is_verb(std::string_view word) { return has(verbs, word); }
bool is_verb_or_noun(std::string_view word) { return has(verbs_or_nouns, word); }
std::string base_of(std::string_view word) {
  if (!word.ends_with('s') || word.size() < 4) return {};
  if (word == "has") return "have";
  auto stem = word.substr(0, word.size() - 1);
  if (is_verb(stem)) return std::string(stem);
  if (!stem.ends_with('e')) return {};
  stem.remove_suffix(1);
  if (is_verb(stem)) return std::string(stem);
  auto with_y = stem.ends_with('i') ? std::string(stem.substr(0, stem.size() - 1)) + "y" : std::string();
  return is_verb(with_y) ? with_y : std::string();
}
bool is_verb_with_s(std::string_view word) { return !base_of(word).empty(); }
bool is_pronoun(std::string_view word) { return has(pronouns, word); }

bool is_adverb(std::string_view word) {
  return has(adverbs, word) ||
         (word.size() > 4 && word.ends_with("ly") && !has(" family reply supply ", word));
}

bool is_adjective(std::string_view word) {
  if (has(adjectives, word)) return true;
  for (std::string_view end : {"able", "ible", "ful", "less", "ous", "ive", "ical", "ional", "ish", "ent",
                               "ant", "rated", "iest", "ier"})
    if (word.size() > end.size() + 2 && word.ends_with(end) && !word.ends_with("ment")) return true;
  // "cheaper"; a "teacher" is rarely the last word after "is" and a subject.
  return word.size() > 5 && word.ends_with("er") && !word.ends_with("ther") && !word.ends_with("cher") &&
         !word.ends_with("ster") && !word.ends_with("uter");
}

bool is_plural(std::string_view word) {
  return (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") &&
          !word.ends_with("is")) ||
         has(" people children men women mice teeth media ", word);
}

bool is_mass_noun(std::string_view word) {
  if (has(mass_nouns, word)) return true;
  for (std::string_view end : {"tion", "sion", "ness", "ity", "ism", "ment", "ance", "ence", "ing", "ship",
                               "hood", "acy", "ure", "dom", "phy", "logy", "nomy", "ware"})
    if (word.size() > end.size() + 1 && word.ends_with(end)) return true;
  return false;
}

bool is_name(std::string_view written) {
  auto bare = without_marks(written);
  if (bare.empty()) return false;
  size_t capitals = 0;
  bool has_digit = false;
  for (char c : bare) capitals += is_upper(c), has_digit = has_digit || is_digit(c);
  if (bare == "A") return false;
  return capitals > 1 || (has_digit && capitals) || bare == "I" || bare.starts_with("I'") ||
         has(names, to_lower(bare)) || (capitals == 1 && bare.size() == 1);
}

bool is_foreign(WordSpan words) {
  size_t foreign = 0, ours = 0;
  for (const auto& word : words) {
    if (has_other_script(word.plain)) return true;
    if (has(foreign_words, word.plain))
      ++foreign;
    else if (is_function_word(word.plain) || is_verb(word.plain))
      ++ours;
  }
  return foreign > ours;
}

bool is_picture(std::string_view text) {
  bool has_any = false;
  for (; !text.empty();) {
    auto point = first_code_point(text);
    if (!point.valid || point.value < 0x2000 || (point.value >= 0x2E80 && point.value < 0xFE00)) return false;
    has_any = true;
    text.remove_prefix(point.length);
  }
  return has_any;
}

std::string third_person(std::string_view verb) {
  std::string out(verb);
  if (out == "be") return "is";
  if (out == "have") return "has";
  if (out == "do" || out == "go") return out + "es";
  bool is_hissing = out.ends_with('s') || out.ends_with('x') || out.ends_with('z') || out.ends_with("ch") ||
                    out.ends_with("sh");
  if (is_hissing) return out + "es";
  if (out.size() > 1 && out.ends_with('y') && !is_vowel(out[out.size() - 2])) {
    out.pop_back();
    return out + "ies";
  }
  return out + "s";
}

std::string gerund(std::string_view verb) {
  std::string out(verb);
  if (has(" be see flee agree ", out) || out.ends_with("ye") || out.ends_with("oe")) return out + "ing";
  if (out.ends_with("ie")) return out.substr(0, out.size() - 2) + "ying";
  if (out.ends_with('e') && out.size() > 2) {
    out.pop_back();
    return out + "ing";
  }
  auto size = out.size();
  bool doubles = has(" begin forget admit permit refer commit prefer occur ", out) ||
                 (size >= 3 && size <= 4 && !is_vowel(out[size - 1]) && is_vowel(out[size - 2]) &&
                  !is_vowel(out[size - 3]) && !std::string_view("wxy").contains(out[size - 1]));
  if (doubles) out += out.back();
  return out + "ing";
}

std::string capitalised(std::string text) {
  if (!text.empty()) text[0] = to_upper(text[0]);
  return text;
}

std::string uncapitalised(std::string text) {
  auto first = std::string_view(text).substr(0, text.find(' '));
  if (!text.empty() && is_upper(text[0]) && !is_name(first)) text[0] = to_lower(text[0]);
  return text;
}

std::string quoted(std::string_view text, size_t max_bytes) {
  auto bare = trim(text);
  // What is quoted as a whole has its marks already.
  if (bare.size() > 2 && bare.front() == '"' && bare.find('"', 1) == bare.size() - 1)
    bare = bare.substr(1, bare.size() - 2);
  if (bare.size() > max_bytes) {
    auto cut = cut_at_character(bare, max_bytes - 3);
    if (auto blank = cut.rfind(' '); blank != std::string_view::npos && blank > max_bytes / 2)
      cut = cut.substr(0, blank);
    return "“" + std::string(trim(cut, " ,;:.")) + "…”";
  }
  return "“" + std::string(bare) + "”";
}

}  // namespace cru::auto_mode::english
