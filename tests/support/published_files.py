"""Files in the formats of published benchmarks, with a few invented lines."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any


def locomo(folder: Path) -> Path:
    """Two people, two sessions; the last question names the wrong speaker."""
    turns = ["The spare key lies under the blue pot.", "Good, mine hangs in the shed."]
    sessions = {
        f"session_{number}": [
            {"speaker": speaker, "dia_id": f"D{number}:{place}", "text": text}
            for place, (speaker, text) in enumerate(zip(("Ida", "Tom"), said, strict=True), 1)
        ]
        for number, said in enumerate((turns, ["I sold the canoe.", "What a pity."]), 1)
    }
    dates = {f"session_{number}_date_time": f"1:56 pm on {number} May, 2023" for number in (1, 2)}
    qa = [
        _asked("Where is the spare key of Ida?", "under the blue pot", ["D1:1; D9:9"], 4),
        _asked("What did Ida sell?", "the canoe", ["D2:1"], 4),
        {"question": "When did Tom sell the canoe?", "adversarial_answer": "May", "evidence": ["D2:1"], "category": 5},
    ]
    conversation = {"speaker_a": "Ida", "speaker_b": "Tom", **sessions, **dates}
    return _written(folder / "locomo.json", [{"sample_id": "conv-x", "conversation": conversation, "qa": qa}])


def _asked(question: str, answer: str, evidence: list[str], category: int) -> dict[str, Any]:
    return {"question": question, "answer": answer, "evidence": evidence, "category": category}


def longmemeval(folder: Path) -> Path:
    """Two questions, each with a history of its own; the second has no answer."""
    sessions = [
        [
            {"role": "user", "content": "I named my sourdough Bruno.", "has_answer": True},
            {"role": "assistant", "content": "A fine name."},
        ],
        [{"role": "user", "content": "Which oven do you like?"}, {"role": "assistant", "content": ""}],
    ]
    common = {
        "haystack_session_ids": ["s1", "s1"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21"],
        "haystack_sessions": sessions,
        "answer_session_ids": ["s1"],
        "question_date": "2023/05/30 (Tue) 23:40",
    }
    first = {"question_id": "q1", "question_type": "single-session-user", "answer": "Bruno", **common}
    second = {"question_id": "q2_abs", "question_type": "single-session-user", "answer": "You did not say.", **common}
    questions = ("What is the name of my sourdough?", "What is the name of my dog?")
    items = [{**one, "question": text} for one, text in zip((first, second), questions, strict=True)]
    return _written(folder / "longmemeval_s.json", items)


def beam(folder: Path) -> Path:
    """One chat of one batch, with a question that is answered and one that is not."""
    said = ["My kiln reaches 1,240 degrees. ->-> 1,1", "That is hot."]
    turns = [
        {"role": role, "id": number, "content": text, **({"time_anchor": "March-15-2024"} if number == 0 else {})}
        for number, (role, text) in enumerate(zip(("user", "assistant"), said, strict=True))
    ]
    questions = {
        "information_extraction": [
            {"question": "What does my kiln reach?", "answer": "1,240 degrees", "source_chat_ids": {"first": [0]}}
        ],
        "abstention": [{"question": "Who built my kiln?", "ideal_response": "It was not said.", "rubric": ["x"]}],
    }
    (folder / "7" / "probing_questions").mkdir(parents=True)
    _written(folder / "7" / "probing_questions" / "probing_questions.json", questions)
    return _written(folder / "7" / "chat.json", [{"batch_number": 1, "turns": [turns]}])


def personamem(folder: Path) -> Path:
    """One context of two sessions, with a question at its end and one after the first session."""
    turns = [
        {"role": role, "content": f"{role.title()}: {text}" if role != "system" else text}
        for role, text in (
            ("system", "Current user persona: a potter."),
            ("user", "I adore jazz concerts."),
            ("assistant", "Noted."),
            ("system", "Current user persona: a potter."),
            ("user", "Opera bores me."),
        )
    ]
    (folder / "shared_contexts_32k.jsonl").write_text(json.dumps({"c1": turns}) + "\n", encoding="utf-8")
    options = "['(a) Go to the opera.', \"(b) Go to jazz concerts, it's what you adore.\"]"
    path = folder / "questions_32k.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        names = "question_id question_type user_question_or_message correct_answer all_options shared_context_id"
        rows.writerow([*names.split(), "end_index_in_shared_context"])
        for end in ("5", "3"):
            rows.writerow([f"p{end}", "recommend", "What shall I do tonight?", "(b)", options, "c1", end])
    return path


def _written(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
