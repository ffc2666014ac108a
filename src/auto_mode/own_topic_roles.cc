// How each role argues about a topic that somebody brought along.
#include <span>

#include "auto_mode/own_topic_lines.h"

namespace cru::auto_mode {
namespace {

struct OfRole {
  std::string_view role;
  OwnLines lines;
};
struct OfRoleInComparison {
  std::string_view role;
  OwnReasons reasons;
};
constexpr OfRole of_role[] = {
    {"questioner",
     {{"I have asked myself what would be missing if nobody had raised {q}. More than I expected, and that "
       "speaks for the bold answer.",
       "Let me make it concrete: which single example about {thing} would convince all of us? I can think of "
       "one for the bold answer, and of none against it.",
       "I tried to say it without any large words. What was left could be said in one line, and I agreed "
       "with it."},
      {"I do not yet know what would count as an answer to {q}. As long as we cannot say that, I lean "
       "towards caution.",
       "I tried to put it in plainer words, and it fell apart. That is rarely a good sign.",
       "Has any of us ever changed a habit because of what was said about {thing}? If not, the matter may be "
       "smaller than our words."}}},
    {"historian",
     {{"I have looked for earlier cases that resemble {q}. Those who dared something were seldom praised at "
       "the time and seldom regretted it later; the comparison is not exact, but it leans this way.",
       "Every generation believes that things were simpler before. Their letters tell another story: they "
       "quarrelled as we do, and about {thing} those who tried something learned more than those who waited.",
       "What strikes me in old debates is how soon the fears of the losing side were forgotten. I would not "
       "build on fear now that it is about {thing}."},
      {"I have looked for earlier cases that resemble {q}. The confident side was rarely the one that had to "
       "clean up afterwards; the comparison is not exact, but it is a warning.",
       "Whenever people were sure about {thing}, their grandchildren wondered how they could be. That makes "
       "me slow.",
       "The old arguments about {thing} sound like ours with other names in them. What has settled nothing "
       "for so long will settle nothing today."}}},
    {"engineer",
     {{"I ask what it takes to find out. For {q}, a small trial costs a week and shows more than a year of "
       "talk.",
       "If one attempt in ten succeeds, and the nine others are noticed early, the sum comes out right. That "
       "holds here as it does for anything else that people build.",
       "I have seen worse ideas run for twenty years. Nothing that we have said about {thing} is harder than "
       "what people already look after every day."},
      {"I ask what breaks first. In {q} it is the dull part: nobody has said how we would notice that we are "
       "wrong.",
       "Everything works once. Think of it a thousand times over, with tired people in a hurry, and then "
       "tell me again.",
       "I count three unknowns, and each of them may be wrong by a factor of ten. With such figures about "
       "{thing} I would not sign anything."}}},
    {"storyteller",
     {{"I think of a neighbour of mine who had never given a thought to {q} until it was about her. She did "
       "not want a theory; she wanted somebody to make up their mind.",
       "A boy I know was told that he was too young to ask about {thing}. He went on asking, and his "
       "questions were better than the answers that he got.",
       "Picture one evening on which it simply goes well: nobody makes a speech, and somebody is better off. "
       "That is what I see when I think about {thing}."},
      {"I think of a woman who had to live with what others believed about {thing}. Nobody had lied to her, "
       "and still nobody had told her what it would be like.",
       "An uncle of mine was sure about {thing} until it concerned his own children. His words stayed the "
       "same; his voice did not.",
       "In the stories that are told about {thing}, the person for whom it went wrong is missing. I would "
       "like to hear that person before I nod."}}},
    {"mediator",
     {{"All of us want {q} to be settled by something better than loudness, and that is more common ground "
       "than we admit. On that ground I lean towards the bold answer.",
       "What the doubters need is a way back. Give them one, and most of what they say about {thing} turns "
       "into advice.",
       "I notice that nobody has disputed the aim, only the road. Let us say so aloud before we go on about "
       "{thing}."},
      {"I hear two questions in one. In {q}, one part is about facts and one is about wishes, and only the "
       "first can be won by arguing.",
       "The bold answer lets the cautious carry the risk. Until they agree to that, I would go no further.",
       "Let us separate what we know from what we hope. About {thing} we know less than half of what has "
       "been said here."}}},
    {"economist",
     {{"Whoever speaks up about {q} gains something by it. I have subtracted that, and what is left still "
       "favours the bold answer.",
       "What does it cost to be wrong? If I take {thing} too seriously I lose an evening, and if I do not "
       "take it seriously enough I may lose a good deal more.",
       "I trust what people spend their time on more than what they say. They spend a good deal of it on "
       "{thing}."},
      {"The loudest voices on {q} pay nothing if they are wrong, so I discount them. What is left is "
       "quieter, and it says no.",
       "Nothing here is free; it is only paid for by somebody who is not in the room. Before I agree about "
       "{thing}, I would like to see the bill.",
       "Tell me what we give up for it. A case that does not name the next best use of our effort is half a "
       "case."}}},
};

// What is to be done is argued in other words than what is true.
constexpr OfRole of_role_in_situation[] = {
    {"questioner",
     {{"What would {who} say to a stranger to whom this had happened? I think that the advice would be "
       "short, and that it would not be to wait.",
       "What would a good end look like, in one sentence? Whoever can say that can also say what comes next.",
       "Who could help with {one}, and has anybody told them? It is the cheapest step of all, and it can be "
       "taken tonight."},
      {"What do we know about {one}, and what do we only suppose? I count one thing that we know, and I "
       "would not build on the rest.",
       "Which decision is really due this week? I cannot find one, and as long as there is none, waiting "
       "costs nothing.",
       "Is it {other} that worries us, or what we imagine behind it? I would ask that before I did "
       "anything."}}},
    {"historian",
     {{"In most stories of this kind that I know, those who spoke up early got half of what they wanted, and "
       "those who waited got what was left. The comparison is not exact, but it leans one way.",
       "People in such a place have always done one thing first: they found out who else was in it. Together "
       "they were heard, and one by one they were not.",
       "What is remembered of such times is seldom the loss. It is that somebody did something about {one} "
       "while it could still be done."},
      {"I know stories of this kind in which the great move of the first week was regretted by the third. "
       "The comparison is not exact, but it makes me slow.",
       "Much that looked final in its day was taken back when nobody was in a hurry. I would leave {other} "
       "time for that.",
       "Those who came off well in such times seldom acted first. They knew more than the others when it was "
       "their turn."}}},
    {"engineer",
     {{"I would treat it like a fault in a machine: first keep it from getting worse, then look for the "
       "cause. The first part can be done today.",
       "Let us set a date and a limit: by when we must know about {one}, and what it may cost. With these "
       "two the rest is ordinary work.",
       "A small step that can be undone costs an evening and tells us more than all of this talk. I would "
       "take it tomorrow."},
      {"Before I change anything, I measure. What exactly is different from last month, and by how much? "
       "Without that, every step about {one} is a guess with a price.",
       "A quick repair is often what breaks next. I would rather change one thing, look at what happens, and "
       "then change the second.",
       "I count two things that we do not know about {thing}. As long as there are two, no plan is better "
       "than any other."}}},
    {"storyteller",
     {{"A neighbour of mine was in such a place. She wrote one letter, on the first evening, and what came "
       "back was better than anything that she had feared.",
       "I knew a man who waited for the right moment. When I asked him a year later, he was still describing "
       "it.",
       "Picture the evening on which {one} is settled, whichever way. Nobody at that table wishes that they "
       "had waited longer to begin."},
      {"A cousin of mine acted on the first evening. He spent the second year taking it back.",
       "I think of a woman who said to everybody: not this week. By the end of the month half of it had gone "
       "away by itself, and she could look after the other half.",
       "When my uncle tells of something like this, he always begins with what he did not know at the time. "
       "It is the longest part of the story."}}},
    {"mediator",
     {{"Everybody in this has something to lose, and that is a reason to sit down soon. I would propose the "
       "meeting, and let the others name the day.",
       "Those who are worried about {one} need something to do. A small first step, taken together, is worth "
       "more than a good plan that one of them has made alone.",
       "I hear agreement that it cannot stay like this. Then let us say so today, kindly, to those whom it "
       "concerns."},
      {"I would not begin with a demand. Let us hear first what the others need; most quarrels of this kind "
       "are about a date, and dates can be moved.",
       "Several people are in this, and they do not all want the same of {one}. Until they have said so to "
       "each other, any step is a step for one of them only.",
       "There is no quarrel about {thing} yet, only a worry. I would not turn the one into the other before "
       "I had to."}}},
    {"economist",
     {{"Waiting has a price as well; it is only paid later, and by somebody else. Choices get fewer with "
       "every week, and that is when they get dear.",
       "Ask who gains if nothing is done about {one}. I would make that less comfortable for them, and soon.",
       "An early offer costs a letter, and a late one costs whatever is asked. I have never seen it the "
       "other way round."},
      {"Whoever is in a hurry pays for it. As long as somebody else wants something, time is on the side of "
       "those who can wait.",
       "I would first add up what each way costs, this year and next. Some losses are cheaper than the fight "
       "against them.",
       "Nobody has put a figure on {one} yet. Before there is one, I would spend nothing on it."}}},
};

// Which of two is better is argued for the one that is one's own: {mine}, and {theirs}.
constexpr OfRoleInComparison of_role_in_comparison[] = {
    {"questioner",
     {"If nobody could see which of the two we chose, would anything be different? I think that {mine} would "
      "be missed, and {theirs} would not.",
      "What do those do who have tried both? The ones whom I asked came back to {mine}, and could say why.",
      "Which of the two would one have to explain to a newcomer? With {mine} there is less to explain."}},
    {"historian",
     {"This was argued before any of us was born, and {mine} outlived several announcements of the contrary. "
      "The comparison is not exact, but it counts for something.",
      "Whoever wrote the old guides had a reason for {mine}. Nobody reads the reason any more, and it still "
      "holds.",
      "Every few years somebody announces that the matter is settled in favour of {theirs}. It never stays "
      "settled for long."}},
    {"engineer",
     {"I ask what breaks first, and when one would notice. With {theirs} it is late, and with {mine} it is "
      "at once; I prefer at once.",
      "A week of trying both costs less than this conversation. My bet is that we would keep {mine}, and I "
      "would write down why.",
      "Think of it a thousand times over, with tired people in a hurry. What is left of {theirs} then is not "
      "much, and what is left of {mine} is enough."}},
    {"storyteller",
     {"A friend of mine changed from {mine} to {theirs} because everybody did. After a year she changed "
      "back, and told nobody.",
      "I think of a boy who was taught both in one week. A year later he only remembered {mine}, and I think "
      "that this says something.",
      "Two brothers whom I know quarrelled about it for ten years. The one with {mine} has stopped noticing, "
      "and I take that for the better sign."}},
    {"mediator",
     {"All of us want peace about this, so whoever cares less should follow whoever cares more. As far as I "
      "can see, those who care most care for {mine}.",
      "I hear that {theirs} would please some of us a little. With {mine} nobody would be hurt, and that "
      "weighs more for me.",
      "Nobody has said a word against {mine} that could not be said against {theirs} as well. What is left "
      "is habit, and habits can be kind."}},
    {"economist",
     {"Look at what people do with their own money and time. They talk about {theirs}, and spend on {mine}.",
      "What does it cost to be wrong? With {mine} it is a little every day, and with {theirs} it is "
      "everything at once.",
      "The advantage of {theirs} is paid for by somebody who is not in the room. With {mine} everybody pays "
      "for their own."}},
};

}  // namespace

std::optional<OwnLines> lines_of(Subject::Kind kind, std::string_view role) {
  if (kind == Subject::Kind::comparison) {
    for (const auto& one : of_role_in_comparison)
      if (one.role == role) return OwnLines{one.reasons, one.reasons};
    return {};
  }
  auto all = kind == Subject::Kind::situation ? std::span(of_role_in_situation) : std::span(of_role);
  for (const auto& one : all)
    if (one.role == role) return one.lines;
  return {};
}

}  // namespace cru::auto_mode
