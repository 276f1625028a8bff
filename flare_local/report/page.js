"use strict";
// Shows the questions of a report. All texts are put into the page as text nodes; nothing is ever parsed as markup.
(() => {
  const BATCH = 40; // questions drawn at a time, while the reader scrolls
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const {rows, settings, questions} = read("overview");
  const haystacks = questions.map((each) =>
    [each.id, each.question, each.gold, ...each.rows.map((row) => row?.answer ?? "")].join("\n").toLowerCase());

  function make(tag, kind, ...content) {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    element.append(...content.filter((each) => each !== null && each !== undefined));
    return element;
  }

  // What became of a question in a row; null: it was not asked there.
  function verdict(outcome) {
    if (outcome === null) return {name: "absent", mark: "", kind: "", says: "not asked"};
    if (outcome.answer === null) return {name: "none", mark: "∅", kind: "", says: "no answer"};
    if (outcome.right === null) return {name: "unjudged", mark: "•", kind: "", says: "not judged"};
    if (outcome.right >= 1) return {name: "right", mark: "✓", kind: "yes", says: "right"};
    if (outcome.right <= 0) return {name: "wrong", mark: "✗", kind: "no", says: "wrong"};
    const share = Math.round(100 * outcome.right) + "%";
    return {name: "partly", mark: share, kind: "half", says: share + " right"};
  }

  // Controls

  function choice(name, id, options) {
    const select = make("select");
    select.id = id;
    for (const [value, text] of options) select.append(new Option(text, value));
    select.addEventListener("change", show);
    controls.append(make("label", "", name, select));
    return select;
  }

  const section = document.getElementById("questions");
  const controls = make("div", "controls");
  const numbered = rows.map((row, place) => [String(place), `${place + 1}. ${row.title}`]);
  const first = choice("answers of", "first", numbered);
  const second = choice("beside", "second", [["", "nothing"], ...numbered]);
  const verdicts = new Set(questions.flatMap((each) => each.rows.map((row) => verdict(row).name)));
  const verdictNames = {right: "right", partly: "partly right", wrong: "wrong", none: "no answer", unjudged: "answered"};
  const right = choice("show", "right",
    [["", "all"], ...Object.entries(verdictNames).filter(([name]) => verdicts.has(name))]);
  const triggered = choice("retrieval", "triggered", [["", "any"], ["triggered", "triggered"], ["calm", "not triggered"],
    ["searched", "searched"], ["unsearched", "triggered, not searched"]]);
  const apart = choice("the two differ", "apart",
    [["", "or not"], ["better", "first is better"], ["worse", "first is worse"], ["text", "in their text"]]);
  const search = make("input");
  search.type = "search";
  search.id = "search";
  search.placeholder = "words of question, gold answer, answers";
  let typing = 0;
  search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(show, 120); });
  controls.append(make("label", "search", "search", search));
  const count = make("p", "count quiet small");
  count.setAttribute("role", "status");
  const unlike = make("div", "unlike");
  const list = make("div", "list");
  const end = make("div");
  section.append(controls, unlike, count, list, end);
  if (rows.length > 1) second.value = "1";

  // Which questions are shown

  const retrieval = {
    "": () => true,
    triggered: (outcome) => outcome.triggered > 0,
    calm: (outcome) => outcome.answer !== null && outcome.triggered === 0,
    searched: (outcome) => outcome.searched > 0,
    unsearched: (outcome) => outcome.triggered > 0 && outcome.searched === 0,
  };
  const differs = {
    better: (one, other) => (one.right ?? 0) > (other.right ?? 0),
    worse: (one, other) => (one.right ?? 0) < (other.right ?? 0),
    text: (one, other) => one.answer !== other.answer,
  };

  function wanted() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return questions.map((_, place) => place).filter((place) => {
      const one = questions[place].rows[Number(first.value)];
      const other = second.value === "" ? one : questions[place].rows[Number(second.value)];
      return one !== null && (!right.value || verdict(one).name === right.value) && retrieval[triggered.value](one) &&
        (second.value === "" || !apart.value || (other !== null && differs[apart.value](one, other))) &&
        words.every((word) => haystacks[place].includes(word));
    });
  }

  // The list

  let places = [];
  let drawn = 0;

  function show() {
    apart.disabled = second.value === "";
    places = wanted();
    drawn = 0;
    list.replaceChildren();
    const asked = questions.filter((each) => each.rows[Number(first.value)] !== null).length;
    count.textContent = `${places.length} of ${asked} questions`;
    unlike.replaceChildren(...settingsApart());
    more();
  }

  function more() {
    const next = places.slice(drawn, drawn + BATCH);
    drawn += next.length;
    list.append(...next.map(line));
  }

  new IntersectionObserver((seen) => { if (seen.some((each) => each.isIntersecting)) while_near(); },
    {rootMargin: "600px"}).observe(end);

  function while_near() {
    while (drawn < places.length && end.getBoundingClientRect().top < innerHeight + 600) more();
  }

  function settingsApart() {
    if (second.value === "") return [];
    const [one, other] = [Number(first.value), Number(second.value)];
    const found = settings.filter((each) => each.values[one] !== each.values[other])
      .map((each) => `${each.name} ${each.values[one]} / ${each.values[other]}`);
    return [make("p", "key", `Settings ${one + 1} / ${other + 1}: ` + (found.join("; ") || "the same") + ".")];
  }

  function line(place) {
    const question = questions[place];
    const button = make("button", "",
      make("span", "place", String(place + 1)), make("span", "text", question.question), marks(question));
    if (question.gold) button.append(make("span", "gold", "gold: ", make("b", "", question.gold)));
    const said = question.rows[Number(first.value)].answer;
    if (said) button.append(make("span", "said", said));
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    const element = make("div", "question", button);
    button.addEventListener("click", () => {
      const open = element.children.length === 1;
      if (open) element.append(opened(place)); else element.lastChild.remove();
      button.setAttribute("aria-expanded", String(open));
    });
    return element;
  }

  function marks(question) {
    return make("span", "marks", ...question.rows.map((outcome, place) => {
      if (outcome === null) return null;
      const {mark, kind, says} = verdict(outcome);
      const chosen = rows.length > 1 && [first.value, second.value].includes(String(place));
      const element = make("span", `mark ${kind}${chosen ? " chosen" : ""}`, rows.length > 1 ? `${place + 1}${mark}` : mark);
      element.title = `${rows[place].title}: ${says}`;
      return element;
    }));
  }

  // One question

  function opened(place) {
    const detail = read(`details-${place}`);
    const chosen = [...new Set([first.value, second.value].filter((value) => value !== ""))].map(Number);
    const judged = make("dl", "judged", ...detail.gold.flatMap((part) =>
      [make("dt", "", part.name), make("dd", "", part.texts.join("\n"))]));
    judged.prepend(make("dt", "", "id"), make("dd", "", questions[place].id));
    const kept = chosen.map((row) => new Set((detail.rows[row].steps ?? []).map((step) => step.kept)));
    return make("div", "opened", judged, make("div", chosen.length > 1 ? "sides two" : "sides",
      ...chosen.map((row, at) => side(place, row, detail.rows[row], chosen.length > 1 ? kept[1 - at] : null))));
  }

  function side(place, row, answer, others) {
    const outcome = questions[place].rows[row];
    const {kind, says} = verdict(outcome);
    const element = make("div", `side row${row % 8}`,
      make("h4", "", make("i", "dot", String(row + 1)), rows[row].title, " ", make("span", `mark ${kind}`, says)));
    if (outcome === null) return element;
    if (outcome.answer === null) {
      element.append(make("p", "bad", answer.error || "not answered yet"));
      return element;
    }
    element.append(make("div", "answer", outcome.answer || "(nothing)"));
    const values = answer.values.map(([name, value]) => `${name} ${value}`);
    element.append(make("p", "pairs", [...values, `ended by ${answer.stop}`].join(" · ")));
    if (answer.search) {
      element.append(make("dl", "step", head("Before the answer", tag("search", "searched")), ...found(answer.search)));
    }
    answer.steps.forEach((step, number) => element.append(drawnStep(step, number + 1, rows[row], others)));
    const limits = [["theta", 0.5], ["beta", 0]].filter(([name]) => rows[row][name] > 0);
    if (limits.length) {
      element.append(make("p", "key", "Words with a probability", ...limits.flatMap(([name, share]) =>
        [` under ${name} ${rows[row][name]} `, shade("like this", share * rows[row][name], rows[row])]),
      ". Point at a word for its own."));
    }
    return element;
  }

  const head = (text, ...tags) => make("dt", "head", text, ...tags);
  const tag = (kind, text) => make("span", `tag ${kind}`, text);

  function drawnStep(step, number, row, others) {
    const element = make("dl", "step");
    const tags = [];
    if (step.queries.length) tags.push(tag("search", "searched"));
    else if (step.accepted) tags.push(tag("kept", "draft kept"));
    else if (step.triggered) tags.push(tag("other", "triggered, nothing to search"));
    element.append(head(`Step ${number}`, ...tags));
    const put = (name, ...content) => element.append(make("dt", "", name), make("dd", "", ...content));
    if (step.draft) put("draft", words(step.draft, row));
    for (const asked of step.asked) put("asked", asked);
    if (step.queries.length) element.append(...found(step));
    if (step.sentence) put("sentence", words(step.sentence, row));
    if (others && !others.has(step.kept)) {
      element.lastChild.classList.add("other-text");
      element.lastChild.title = "the other answer has no such sentence";
    }
    return element;
  }

  function found(search) {
    const queries = search.queries.map((query) => make("div", "query", query));
    const documents = search.documents.map((document) => make("li", document.gold ? "found-gold" : "",
      document.title || document.id, document.gold ? " ✓" : "",
      make("small", "", ` ${document.title ? document.id : ""}${document.score === null ? "" : "  " + document.score}`)));
    return [make("dt", "", "query"), make("dd", "", ...queries), make("dt", "", "found"),
      make("dd", "", documents.length ? make("ol", "documents", ...documents) : make("span", "quiet", "nothing"))];
  }

  function words(writing, row) {
    if (!writing.tokens) return make("span", "words", writing.text.trim() || "(nothing)");
    return make("span", "words", ...writing.tokens.flatMap((token, at) => {
      const word = token.trimStart(); // blanks before a word are not coloured
      const blanks = at ? token.slice(0, token.length - word.length) : "";
      return [blanks, shade(word, writing.p[at], row)];
    }));
  }

  // A word in the colour of its probability: red below beta, else yellow below theta, deeper the lower it is.
  function shade(text, p, {theta, beta}) {
    const element = make("span", "", text);
    if (p === null) return element;
    element.title = `p = ${p.toFixed(3)}`;
    if (p < beta) element.className = "lower";
    else if (p < theta) {
      element.className = "low";
      element.style.setProperty("--much", `${Math.round(30 + 60 * (theta - p) / Math.max(theta - beta, 0.01))}%`);
    }
    return element;
  }

  show();
})();
