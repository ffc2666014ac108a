#include "auto_mode/own_topic_lines.h"

namespace cru::auto_mode {
namespace {

// In the order of Subject::Kind.
constexpr OwnLines of_kind[] = {
    {{"My claim is that {yes}. Leaving everything as it is would be a decision as well, only one that nobody "
      "has to defend.",
      "Ask who bears the cost of waiting. For somebody who loses nothing by it, it is easy to say that {no}.",
      "When I hear {one}, most of the objections are about how and not about whether. A clumsy first attempt "
      "can be corrected, and one that is never made cannot."},
     {"I hold that {no}, at least until somebody can say what it would cost and who would pay. So far I have "
      "heard a wish and not a reason.",
      "Imagine the least careful person you know in charge of it. Whatever we say about {thing} is worth as "
      "much as what is left of it in those hands.",
      "There may be a cheaper way to most of what you hope for. As long as nobody has tried it, it is too "
      "early to say that {yes}."}},
    {{"I am for {a}. What counts is the ordinary day and not the best one, and on an ordinary day I would "
      "not miss {b}.",
      "Whatever speaks for {b} speaks for special cases. The general case speaks for {a}, and most cases are "
      "general.",
      "Suppose that we had never heard of either and had to choose this morning. I think that we would soon "
      "agree on {a}, and wonder what the quarrel was about."},
     {"I am for {b}. The merits of {a} are plain on the first day, and those of {b} are plain after a year.",
      "You compare the best of {a} with the worst of {b}. Put average beside average, and the picture "
      "changes.",
      "What would it cost to turn back? With {b} I know how I would get out again, and with {a} I am less "
      "sure."}},
    {{"As I see it, {yes}. I would not say so on the strength of one striking example; it is the ordinary "
      "cases that persuade me.",
      "Try for a week to live as if the opposite were true. One keeps running into things about {thing} that "
      "are hard to explain then.",
      "Whoever holds that {no} has more to explain away than I have to explain. That is no proof, but it is "
      "where I would place my bet."},
     {"I doubt that {yes}. It sounds right because we have heard it so often, and that is the weakest of all "
      "reasons.",
      "Everything depends on what {one} is supposed to mean here. Take the word in one way, and nobody "
      "disagrees; take it in the other, and hardly anybody agrees.",
      "What should we expect to see if {no}? As far as I can tell, much the same as what we do see."}},
    {{"I have one rule for {q}: begin with the smallest step that can fail. A long plan is a polite way of "
      "waiting.",
      "Somebody has managed a part of this already. Before we invent anything of our own, I would copy what "
      "has worked for others with {one}, and see where it stops working.",
      "I would name one person who answers for it, and one date. Without these two, all that we say about "
      "{other} is a wish."},
     {"I distrust every quick answer to {q}. We have not even said what would count as done.",
      "A small step is cheap because it leaves out what is hard. With {one} the hard part comes last, and it "
      "will not get easier while we practise on the rest.",
      "What has worked for others had something that we may lack: time, money or patience. I would count "
      "what we have before I say another word about {thing}."}},
    {{"I begin with the plainest thing that can be said about {thing}. It has to fail before I reach for a "
      "deeper one.",
      "There are things about {thing} on which everybody in this room agrees. I would build on those and "
      "leave the quarrels for later.",
      "An answer does not have to be complete to be worth having. Half an answer about {one} that can be "
      "tested is more than a whole one that cannot."},
     {"The plainest explanation is usually the one that we are used to. To {q} I know several answers that "
      "fit equally well, and that should worry us.",
      "Perhaps we are asking for the wrong thing. We take for granted that {other} is a single thing, and I "
      "suspect that it is at least three.",
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
      "topic of."}},
    {{"I say that {yes}. While nothing is settled, a word still costs little; afterwards one can only react.",
      "I would begin today, and with those who are concerned: ask them plainly what they want, by when, and "
      "what could still change it. As long as nobody has asked, all that we say about {thing} is a guess.",
      "Let us put three ways out on paper, and beside each what it costs and who would help. Whoever has a "
      "second choice need not be afraid of the first answer."},
     {"I say that {no}. So far we have heard one side of it, and whoever moves first shows what they would "
      "settle for.",
      "Before anything else I would find out what is certain about {one} and what is only said. People often "
      "act on the second, and pay for it.",
      "Not everything about {thing} has to be answered at once. Some of it settles itself, and some of it is "
      "for others to settle."}},
};

constexpr std::array<std::string_view, own_questions> questions_of_kind[] = {
    {"What exactly do we mean by {one} here, and what do we leave out?",
     "Suppose it were settled that {yes}: what is the first thing that anybody would notice the next "
     "morning?"},
    {"For whom are we choosing between {a} and {b}: for ourselves, or for somebody who cannot ask us?",
     "Is there a case in which you would take the other one without hesitating?"},
    {"What exactly do we mean by {one} here, and what do we leave out?",
     "Which single observation about {thing} would make you change sides?"},
    {"What would be the first sign that we are on the right track with {one}?",
     "Which part of it could we leave out without anybody missing it?"},
    {"What exactly do we mean by {one} here, and what do we leave out?",
     "Which single observation would make you give up your answer?"},
    {"If you had to explain {it} to a child, with which example would you begin?",
     "What would be different tomorrow if nobody ever mentioned {it} again?"},
    {"What is the worst that can happen with {one} if nothing is done for a month?",
     "Who else is concerned by {one}, and has anybody asked them?"},
};

/// For the one side and for the other.
constexpr std::array<OwnAnswer, 2> answers_of_kind[] = {
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
       "date on which we look again",
       "So my answer to {asked} is to begin small, and to look again on that date."},
      {"the answer to {q} is to say first what counts as done, and only then to take a step that can be "
       "undone",
       "So my answer to {asked} is to say first what we want, and then to begin small."}}},
    {{{"the best answer to {q} is the plain one, for as long as somebody keeps looking for the case in which "
       "it fails",
       "So my answer to {asked} is the plain one, with a question mark behind it."},
      {"there are several answers to {q}, and that the honest one is to name them and to say which we would "
       "bet on",
       "So I have more than one answer to {asked}, and I would still bet on the plain one."}}},
    {{{"there is more to {it} than people admit, and less than the loudest of them say",
       "So my answer is to speak of {it} more often, and with smaller words."},
      {"there is less to {it} than people say, and still something that should not be lost",
       "So my answer is to speak of {it} less often, and more exactly."}}},
    {{{"as far as {one} is concerned, {who} should ask those who know this week, agree to nothing in a "
       "hurry, and have a second way out",
       "So my answer to {asked} is to ask this week, and to look for a second way out meanwhile."},
      {"as far as {one} is concerned, {who} should first find out what is certain, decide what a good end "
       "would be, and only then act",
       "So my answer to {asked} is to find out first what is certain, and then to act on that and on nothing "
       "else."}}},
};

size_t index_of(Subject::Kind kind) { return static_cast<size_t>(kind); }

}  // namespace

const OwnLines& lines_of(Subject::Kind kind) { return of_kind[index_of(kind)]; }
const OwnQuestions& questions_of(Subject::Kind kind) { return questions_of_kind[index_of(kind)]; }
const OwnAnswer& answer_of(Subject::Kind kind, bool leans) {
  return answers_of_kind[index_of(kind)][leans ? 0 : 1];
}

}  // namespace cru::auto_mode
