#include "auto_mode/own_topic.h"

#include <array>

#include "base/text.h"

namespace cru::auto_mode {
namespace {

constexpr size_t max_asked = 100;  ///< longer ones are not quoted again

using Reasons = std::array<std::string_view, own_reasons>;
struct Lines {
  Reasons claims, objections;
};

// In the order of Subject::Kind. {yes} and {no} are what the two sides hold, {q} is the question, {one} and
// {other} are words of it, {thing} the one that is a thing, {a} and {b} what is compared, {it} the matter. No
// verb depends on them: nobody knows whether they are one or many.
constexpr Lines of_kind[] = {
    {{"My claim is that {yes}. Leaving everything as it is would be a decision as well, only one that nobody "
      "has to defend.",
      "Ask who bears the cost of waiting. For somebody who loses nothing by it, it is easy to say that {no}.",
      "When I hear {one}, most of the objections are about how and not about whether. A clumsy first attempt "
      "can "
      "be corrected, and one that is never made cannot."},
     {"I hold that {no}, at least until somebody can say what it would cost and who would pay. So far I have "
      "heard a wish and not a reason.",
      "Imagine the least careful person you know in charge of it. Whatever we say about {other} is worth "
      "as much as what is left of it in those hands.",
      "There may be a cheaper way to most of what you hope for. As long as nobody has tried it, it is too "
      "early "
      "to say that {yes}."}},
    {{"I am for {a}. What counts is the ordinary day and not the best one, and on an ordinary day I would "
      "not "
      "miss {b}.",
      "Whatever speaks for {b} speaks for special cases. The general case speaks for {a}, and most cases are "
      "general.",
      "Suppose that we had never heard of either and had to choose this morning. I think that we would soon "
      "agree on {a}, and wonder what the quarrel was about."},
     {"Then I am for {b}, and not out of contrariness. The merits of {a} are plain on the first day, and "
      "those of "
      "{b} are plain after a year.",
      "You compare the best of {a} with the worst of {b}. Put average beside average, and the picture "
      "changes.",
      "What would it cost to turn back? With {b} I know how I would get out again, and with {a} I am less "
      "sure."}},
    {{"As I see it, {yes}. I would not say so on the strength of one striking example; it is the ordinary "
      "cases "
      "that persuade me.",
      "Try for a week to live as if the opposite were true. One keeps running into things about {other} that "
      "are "
      "hard to explain then.",
      "Whoever holds that {no} has more to explain away than I have to explain. That is no proof, but it is "
      "where "
      "I would place my bet."},
     {"I doubt that {yes}. It sounds right because we have heard it so often, and that is the weakest of all "
      "reasons.",
      "Everything depends on what {one} is supposed to mean here. Take the word in one way, and nobody "
      "disagrees; "
      "take it in the other, and hardly anybody agrees.",
      "What should we expect to see if {no}? As far as I can tell, much the same as what we do see."}},
    {{"I have one rule for {q}: begin with the smallest step that can fail. A long plan is a polite way of "
      "waiting.",
      "Somebody has managed a part of this already. Before we invent anything of our own, I would copy what "
      "has "
      "worked for others with {one}, and see where it stops working.",
      "I would name one person who answers for it, and one date. Without these two, all that we say about "
      "{other} "
      "is a wish."},
     {"I distrust every quick answer to {q}. We have not even said what would count as done.",
      "A small step is cheap because it leaves out what is hard. With {one} the hard part comes last, and it "
      "will "
      "not get easier while we practise on the rest.",
      "What has worked for others had something that we may lack: time, money or patience. I would count "
      "what we "
      "have before I say another word about {other}."}},
    {{"I begin with the plainest thing that can be said about {other}. It has to fail before I reach for a "
      "deeper one.",
      "There are things about {other} on which everybody in this room agrees. I would build on those and "
      "leave the "
      "quarrels for later.",
      "An answer does not have to be complete to be worth having. Half an answer about {one} that can be "
      "tested "
      "is more than a whole one that cannot."},
     {"The plainest explanation is usually the one that we are used to. To {q} I know several answers that "
      "fit "
      "equally well, and that should worry us.",
      "Perhaps we are asking for the wrong thing. We take for granted that {other} is a single thing, and I "
      "suspect "
      "that it is at least three.",
      "Those who answered this before us were as sure as we are. About {one} people have been sure more than "
      "once, and each time of something else."}},
    {{"I think that there is more to {it} than people admit. It is a topic that one mentions in passing, and "
      "then half of the other topics lead back to it.",
      "Leave out everything that is said about {it} from habit. What remains is small, and it is worth an "
      "evening.",
      "Nobody would argue for so long if nothing were at stake. That alone tells me to take {one} "
      "seriously."},
     {"I think that there is less to {it} than people say. We have made a large word of a small thing.",
      "Whenever I hear {one} in an argument, I ask whether the argument would fall without it. It seldom "
      "would.",
      "Attention can be spent only once. What we give to {it} we take from something that nobody has made a "
      "topic "
      "of."}},
};

struct OfRole {
  std::string_view role;
  Lines lines;
};
constexpr OfRole of_role[] = {
    {"questioner",
     {{"I have asked myself what would be missing if nobody had raised {q}. More than I expected, and that "
       "speaks for the bold answer.",
       "Let me make it concrete: which single example of {thing} would convince all of us? I can think of "
       "one for "
       "the bold answer, and of none against it.",
       "I tried to say it without saying {thing}. What was left could be said in one line, and I agreed "
       "with "
       "it."},
      {"I do not yet know what would count as an answer to {q}. As long as we cannot say that, I lean "
       "towards "
       "caution.",
       "I tried to replace {thing} with a plainer word, and the sentence fell apart. That is rarely a good "
       "sign.",
       "Has any of us ever changed a habit because of {thing}? If not, the matter may be smaller than our "
       "words."}}},
    {"historian",
     {{"I have looked for earlier cases that resemble {q}. Those who dared something were seldom praised at "
       "the "
       "time and seldom regretted it later; the comparison is not exact, but it leans this way.",
       "Every generation believes that things were simpler before. Their letters tell another story: they "
       "quarrelled as we do, and about {thing} those who tried something learned more than those who waited.",
       "What strikes me in old debates is how soon the fears of the losing side were forgotten. I would not "
       "build "
       "on fear where {thing} is concerned."},
      {"I have looked for earlier cases that resemble {q}. The confident side was rarely the one that had to "
       "clean up afterwards; the comparison is not exact, but it is a warning.",
       "Whenever people were sure about {thing}, their grandchildren wondered how they could be. That makes "
       "me "
       "slow.",
       "The old arguments about {thing} sound like ours with other names in them. What has settled nothing "
       "for so "
       "long will settle nothing today."}}},
    {"engineer",
     {{"I ask what it takes to find out. For {q}, a small trial costs a week and shows more than a year of "
       "talk.",
       "If one attempt in ten succeeds, and the nine others are noticed early, the sum comes out right. That "
       "holds "
       "for {thing} as it does for anything else that people build.",
       "I have seen worse ideas run for twenty years. Nothing in {thing} is harder than what people already "
       "look "
       "after every day."},
      {"I ask what breaks first. In {q} it is the dull part: nobody has said how we would notice that we are "
       "wrong.",
       "Everything works once. Think of {thing} a thousand times over, with tired people in a hurry, and "
       "then tell me "
       "again.",
       "I count three unknowns, and each of them may be wrong by a factor of ten. With such figures about "
       "{thing} I "
       "would not sign anything."}}},
    {"storyteller",
     {{"I think of a neighbour of mine who had never given a thought to {q} until it was about her. She did "
       "not "
       "want a theory; she wanted somebody to make up their mind.",
       "A boy I know was told that {thing} was too large a word for him. He went on asking, and his "
       "questions were "
       "better than the answers that he got.",
       "Picture one evening on which it simply goes well: nobody makes a speech, and somebody is better off. "
       "That "
       "is what I see when I hear {thing}."},
      {"I think of a woman who had to live with what others believed about {thing}. Nobody had lied to her, "
       "and "
       "still nobody had told her what it would be like.",
       "An uncle of mine was sure about {thing} until it concerned his own children. His words stayed the "
       "same; "
       "his voice did not.",
       "In the stories that are told about {thing}, the person for whom it went wrong is missing. I would "
       "like to "
       "hear that person before I nod."}}},
    {"mediator",
     {{"All of us want {q} to be settled by something better than loudness, and that is more common ground "
       "than "
       "we admit. On that ground I lean towards the bold answer.",
       "What the doubters need is a way back. Give them one, and most of what they say about {thing} turns "
       "into "
       "advice.",
       "I notice that nobody has disputed the aim, only the road. Let us say so aloud before we go on about "
       "{thing}."},
      {"I hear two questions in one. In {q}, one part is about facts and one is about wishes, and only the "
       "first "
       "can be won by arguing.",
       "The bold answer lets the cautious carry the risk. Until they agree to that, I would go no further "
       "with "
       "{thing}.",
       "Let us separate what we know from what we hope. About {thing} we know less than half of what has "
       "been "
       "said here."}}},
    {"economist",
     {{"Whoever speaks up about {q} gains something by it. I have subtracted that, and what is left still "
       "favours "
       "the bold answer.",
       "What does it cost to be wrong? If I take {thing} too seriously I lose an evening, and if I do not "
       "take it "
       "seriously enough I may lose a good deal more.",
       "I trust what people spend their time on more than what they say. They spend a good deal of it on "
       "{thing}."},
      {"The loudest voices on {q} pay nothing if they are wrong, so I discount them. What is left is "
       "quieter, and "
       "it says no.",
       "Nothing here is free; it is only paid for by somebody who is not in the room. Before I agree about "
       "{thing}, I "
       "would like to see the bill.",
       "Tell me what we give up for it. A case for {thing} that does not name the next best use of our "
       "effort is "
       "half a case."}}},
};

constexpr std::array<std::string_view, own_questions> questions_of_kind[] = {
    {"What exactly do we mean by {one} here, and what do we leave out?",
     "Suppose it were settled that {yes}: what is the first thing that anybody would notice the next "
     "morning?"},
    {"For whom are we choosing between {a} and {b}: for ourselves, or for somebody who cannot ask us?",
     "Is there a case in which you would take the other one without hesitating?"},
    {"What exactly do we mean by {one} here, and what do we leave out?",
     "Which single observation about {other} would make you change sides?"},
    {"What would be the first sign that we are on the right track with {one}?",
     "Which part of it could we leave out without anybody missing it?"},
    {"What exactly do we mean by {one} here, and what do we leave out?",
     "Which single observation would make you give up your answer?"},
    {"If you had to explain {it} to a child, with which example would you begin?",
     "What would be different tomorrow if nobody ever mentioned {it} again?"},
};

struct Answer {
  std::string_view middle, answer;
};
/// For the one side and for the other.
constexpr std::array<Answer, 2> answers_of_kind[] = {
    {{{"{yes}, first as a trial, with a day on which somebody looks at the result, and with a way back",
       "So my answer to {asked} is yes, on trial."},
      {"{no} for now, and that whoever wants it otherwise should try it first where a mistake costs little",
       "So my answer to {asked} is no, not yet."}}},
    {{{"the choice is {a} for most people on most days, and {b} for those who can say exactly why they need "
       "it",
       "So if somebody asks me tomorrow, I will say {a}, and I will add what {b} would be good for."},
      {"the choice is {b} for most people on most days, and {a} for those who can say exactly why they need "
       "it",
       "So if somebody asks me tomorrow, I will say {b}, and I will add what {a} would be good for."}}},
    {{{"{yes}, in the sense in which people usually say it, and that the exceptions are real but few",
       "So my answer to {asked} is yes, with its exceptions named."},
      {"{no}, in the sense in which people usually say it, and that whoever holds the opposite has seen an "
       "exception",
       "So my answer to {asked} is no, as the words are usually meant."}}},
    {{{"the answer to {q} is a first small step that can be undone, one person who answers for it, and a "
       "date on "
       "which we look again",
       "So my answer to {asked} is to begin small, and to look again on that date."},
      {"the answer to {q} is to say first what counts as done, and only then to take a step that can be "
       "undone",
       "So my answer to {asked} is to say first what we want, and then to begin small."}}},
    {{{"the best answer to {q} is the plain one, for as long as somebody keeps looking for the case in which "
       "it "
       "fails",
       "So my answer to {asked} is the plain one, with a question mark behind it."},
      {"there are several answers to {q}, and that the honest one is to name them and to say which we would "
       "bet on",
       "So I have more than one answer to {asked}, and I would still bet on the plain one."}}},
    {{{"there is more to {it} than people admit, and less than the loudest of them say",
       "So my answer is to speak of {it} more often, and with smaller words."},
      {"there is less to {it} than people say, and still something that should not be lost",
       "So my answer is to speak of {it} less often, and more exactly."}}},
};

/// The template with its slots filled, each once: what is filled in is not looked at again.
std::string filled(std::string_view line, const Subject& subject) {
  const std::pair<std::string_view, std::string_view> slots[] = {
      {"{asked}", subject.asked.size() <= max_asked ? std::string_view(subject.asked) : "what we were asked"},
      {"{yes}", subject.yes},
      {"{no}", subject.no},
      {"{q}", subject.question},
      {"{one}", subject.one},
      {"{other}", subject.other},
      {"{thing}", subject.thing},
      {"{a}", subject.first},
      {"{b}", subject.second},
      {"{it}", subject.matter}};
  std::string out;
  while (!line.empty()) {
    auto brace = line.find('{');
    out += line.substr(0, brace);
    if (brace == std::string_view::npos) break;
    line.remove_prefix(brace);
    size_t length = 1;
    for (auto [name, text] : slots)
      if (line.starts_with(name)) {
        out += text;
        length = name.size();
      }
    line.remove_prefix(length);
  }
  return out;
}

size_t index_of(const Subject& subject) { return static_cast<size_t>(subject.kind); }

}  // namespace

std::string reason_about(const Subject& subject, Side side, size_t number, std::string_view role,
                         uint64_t seed) {
  const auto* lines = &of_kind[index_of(subject)];
  for (const auto& one : of_role)
    // The first of each side says which side it is; only then does everybody argue in the way of the role.
    if (one.role == role && number > 0) {
      lines = &one.lines;
      number += static_cast<size_t>(seed % own_reasons);
    }
  const auto& reasons = side == Side::claims ? lines->claims : lines->objections;
  return filled(reasons[number % own_reasons], subject);
}

std::string question_about(const Subject& subject, size_t number) {
  return filled(questions_of_kind[index_of(subject)][number % own_questions], subject);
}

std::string middle_about(const Subject& subject, bool leans) {
  return filled(answers_of_kind[index_of(subject)][leans ? 0 : 1].middle, subject);
}

std::string answer_about(const Subject& subject, bool leans) {
  return filled(answers_of_kind[index_of(subject)][leans ? 0 : 1].answer, subject);
}

}  // namespace cru::auto_mode
