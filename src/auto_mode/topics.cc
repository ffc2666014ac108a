#include "auto_mode/topics.h"

#include <algorithm>

namespace cru::auto_mode {
namespace {

constexpr Topic pool[] = {
    {"code-review",
     "Should every change to a program be reviewed by a second person before it is merged, or does that cost "
     "more than it saves? Argue from cases, and do not settle for \"it depends\".",
     {"A reviewer catches the mistake that the author cannot see, because the author reads what was meant.",
      "Review spreads knowledge of the code, so that no part of it belongs to one person alone.",
      "Knowing that somebody will read it makes people write smaller and clearer changes."},
     {"Most review comments are about names and blanks, and the expensive errors pass right through.",
      "A change that waits two days for review invites a second change on top of it, and then a conflict.",
      "Responsibility that is shared by two is often carried by neither."},
     {"Which defects did review actually find in the last project you remember?",
      "Would you accept a faster test suite in exchange for giving up review altogether?"},
     "review earns its price where a mistake is hard to undo, and tests should take over the rest"},
    {"remote-work",
     "Does working from home make teams better at their work, or only more comfortable? Consider the people "
     "who join a team last, not only those who founded it.",
     {"Whoever works without interruption for four hours finishes what would take two days in an open "
      "office.",
      "A team that writes its decisions down can be joined by anybody, anywhere, at any hour.",
      "Good people live in many places, and few of them want to move for a desk."},
     {"The newcomer learns by overhearing, and nobody overhears anything at home.",
      "Trust grows in the five minutes before a meeting, and a video call has no such minutes.",
      "What is comfortable for those who know each other is lonely for those who do not."},
     {"How did the last newcomer on your team find out whom to ask?",
      "What would you measure to notice that a team is slowly drifting apart?"},
     "teams need rare but deliberate time in one room, most of all in the first weeks of each member"},
    {"artificial-art",
     "Can a picture that a machine has made be art, or is it only an echo of the artists it has learned "
     "from? "
     "Decide what would have to be true for your answer to change.",
     {"We judge a picture by what it does to us, and that does not ask who held the brush.",
      "Every painter began by imitating others, and nobody calls the result an echo.",
      "Choosing one picture out of ten thousand is an act of taste, and taste is what artists have."},
     {"A picture means something because somebody risked something by making it.",
      "A machine cannot be embarrassed by its work, so it cannot be proud of it either.",
      "If nobody is answerable for a work, then there is nobody to have a conversation with."},
     {"Would you feel deceived if a painting that moved you turned out to have no painter?",
      "Is a photograph an echo of the landscape, or a choice?"},
     "the art lies in the choosing and the answering for it, so a person must stand somewhere behind the "
     "work"},
    {"space-or-ocean",
     "Should mankind spend its next hundred billion on exploring space or on exploring the oceans? Say what "
     "we would know afterwards that we do not know now.",
     {"A second home for life is the only insurance against a misfortune that strikes a whole planet.",
      "Space forces us to build things that work without repair, and everybody profits from those.",
      "Nothing has united people across borders as the picture of the earth from outside did."},
     {"Four fifths of the sea floor have never been seen, and it is only a few kilometres away.",
      "The sea feeds billions and makes half of the oxygen; the moon does neither.",
      "What lives in the deep may hold more medicine than all the rocks of Mars."},
     {"Which single discovery would make you change sides?",
      "How much of the benefit of space flight could have been had by building something else?"},
     "the sea should have the larger part for now, and space the part that cannot be postponed"},
    {"privacy",
     "Is privacy still worth defending when most people give it away for convenience, or is it a habit of an "
     "earlier century? Take the strongest form of the other side seriously.",
     {"What people do when nobody watches is where new opinions come from.",
      "Giving something away without understanding it is no proof that it has no value.",
      "Power that sees everything and cannot be seen has never stayed gentle for long."},
     {"Many crimes of the past were possible only because doors were closed.",
      "People trade privacy for things they want, and adults may decide what to trade.",
      "A village knew everything about everybody, and people lived in villages for ten thousand years."},
     {"Is there anything that you would never want to be known, although it is harmless?",
      "Who should have to prove the need: the one who watches or the one who hides?"},
     "watching must be visible to those who are watched, and the burden of proof lies with whoever watches"},
    {"small-teams",
     "Do small teams really build better software than large ones, or do we only remember the small ones "
     "that "
     "succeeded? Look for evidence against your own view.",
     {"Four people can all know why something was done; forty need documents that nobody reads.",
      "Each further person adds more conversations than hands.",
      "A small team must leave things out, and what is left out cannot break."},
     {"We hear of the small team that made it, and never of the nine hundred that ran out of breath.",
      "An aeroplane's software cannot be written by four people, however gifted.",
      "A small team is one illness away from standing still."},
     {"What is the largest thing that you know to be built and kept alive by fewer than ten people?",
      "Could the advantage be that small teams get to choose their problems?"},
     "large work should be cut along seams so that each part can be held by a small team"},
    {"free-will",
     "If every thought follows from earlier causes, does it still make sense to hold people responsible for "
     "what they do? Keep the question practical: what would you change in a court, a school, a family?",
     {"Responsibility is a practice that changes behaviour, and it works whatever the causes are.",
      "Whoever can weigh reasons is free in the only sense that matters.",
      "To treat a person as a mechanism is to take away what makes them improve."},
     {"Nobody has chosen the brain with which he chooses.",
      "Most people in prisons were hurt long before they hurt anybody.",
      "Punishment that only satisfies our anger is anger with a uniform."},
     {"If a tumour made somebody violent, would you hold him responsible? And a childhood?",
      "What would be lost if we kept protection and healing, and gave up blame?"},
     "we should keep asking people for reasons, and stop making anybody suffer only because he deserves it"},
    {"school-grades",
     "Do marks in school help children to learn, or do they teach them to learn for marks? Design the school "
     "you would send your own child to.",
     {"Without a mark nobody knows where they stand, and false comfort is no kindness.",
      "A mark is the same for the teacher's favourite and for the quiet one in the last row.",
      "Most people work harder towards something that can be counted."},
     {"Whatever is measured is what gets learned, and curiosity cannot be measured.",
      "A child that has had three bad marks stops trying long before it stops being able.",
      "Nobody has ever asked a good engineer for his marks in geometry."},
     {"What did you learn best in your life, and was it ever marked?",
      "How would a school without marks notice that a child falls behind?"},
     "children need frequent and honest answers about single pieces of work, and no number at the end of the "
     "year"},
    {"nuclear-power",
     "Is nuclear power a bridge to a clean future or an expensive detour? Compare it with what else the same "
     "money and the same fifteen years could build.",
     {"It has the fewest deaths for each unit of energy of anything that runs at night.",
      "A grid of wind and sun alone needs stores that nobody has built at that size.",
      "The fuel for a lifetime of one person fits in a cup."},
     {"A plant that is begun today will be late by five years and cost twice as much; they always do.",
      "We hand the waste to people who cannot be asked.",
      "While a reactor is being built, the price of batteries halves twice."},
     {"Would you keep an old reactor running and yet build no new one?",
      "What is the longest promise that any institution has ever kept?"},
     "running plants that are safe should run on, and new money should go first to what can be finished "
     "soon"},
    {"lying",
     "Is it ever right to lie to somebody for their own good? Begin with a case in which you would do it, "
     "and "
     "then defend the one who was lied to.",
     {"To tell a dying man that his son arrived safely harms nobody and gives him peace.",
      "Truth is a tool for living well, and no tool is right for every task.",
      "Whoever hides from murderers has a claim on my lie."},
     {"A lie decides for another what he can bear, and nobody asked him.",
      "One kind lie makes every later comfort worthless.",
      "Nearly every cruel lie was told for somebody's good."},
     {"If you were the one, would you want to be told afterwards?",
      "Is silence a lie, when you know what the other will conclude from it?"},
     "one may withhold and comfort, but must answer truthfully when one is truly asked"},
    {"open-source",
     "Does free software survive because it is better, or because a few tired volunteers carry everybody "
     "else? Say who should pay for what.",
     {"Anybody can look, so anybody can mend, and some of them do.",
      "Companies that compete on everything else share the ground they stand on.",
      "A program that cannot be bought cannot be bought up and closed."},
     {"A thousand companies depend on a library that one person mends on Sundays.",
      "Many eyes look at the code that is fun to look at.",
      "Whoever takes without paying calls it a community."},
     {"Which piece of free software would hurt you most if its author stopped tomorrow?",
      "Would paying maintainers change why they do it?"},
     "what everybody stands on must be paid for by those who earn with it, without buying the right to "
     "command"},
    {"four-day-week",
     "Would a working week of four days make a country richer or poorer? Do not only think of offices.",
     {"Tired people make mistakes that the fifth day is spent repairing.",
      "Wherever it was tried in offices, as much was done in less time.",
      "A free day is when people mend, learn and look after each other, and all of that is wealth."},
     {"A nurse cannot wash patients faster because the week is shorter.",
      "Trials are joined by firms that hope for success, and they find it.",
      "Those who are paid by the hour would be given a day that they cannot afford."},
     {"Which work near you could really be done in four days, and which could not?",
      "Who would work on the day on which all the others are free?"},
     "shorter weeks should begin where hours are long and badly used, and with pay for those who cannot "
     "compress their work"},
};
static_assert(std::size(pool) == 12);

}  // namespace

std::span<const Topic> more_topics();

std::span<const Topic> topics() {
  static const auto all = [] {
    std::array<Topic, 24> out{};
    auto next = std::ranges::copy(pool, out.begin()).out;
    std::ranges::copy(more_topics(), next);
    return out;
  }();
  return all;
}

const Topic* find_topic(std::string_view text) {
  for (const auto& topic : topics())
    if (topic.name == text || topic.prompt == text) return &topic;
  return nullptr;
}

const Topic& draw_topic(uint64_t chance) { return topics()[chance % topics().size()]; }

}  // namespace cru::auto_mode
