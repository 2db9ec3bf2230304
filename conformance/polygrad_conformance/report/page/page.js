"use strict";
// The records lie in the page as columns of numbers, which point into one list of strings. Rows are
// made when they are asked for, a page at a time, and only as text: nothing in a record is markup.
(() => {
  const PAGE = 100;
  const BAD = new Set(["fail", "error", "crash", "timeout", "fixed"]);
  const find = (id) => document.getElementById(id);
  const data = JSON.parse(find("data").textContent);
  const { strings, columns } = data;
  const text = (name, i) => strings[columns[name][i]];
  const total = columns.op.length;
  let shown = PAGE;

  const make = (tag, words, className) => {
    const made = document.createElement(tag);
    made.textContent = words;
    if (className) made.className = className;
    return made;
  };

  const options = (id, column) => {
    const names = [...new Set(columns[column])].map((i) => strings[i]).sort();
    for (const name of names) {
      const option = make("option", name || "(none)");
      option.value = name;
      find(id).append(option);
    }
  };

  const wanted = () => {
    const words = find("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const op = find("op").value, dtype = find("dtype").value;
    const check = find("check").value, status = find("status").value;
    const found = [];
    for (let i = 0; i < total; i++) {
      if (op !== "*" && text("op", i) !== op) continue;
      if (dtype !== "*" && text("dtype", i) !== dtype) continue;
      if (check !== "*" && text("check", i) !== check) continue;
      if (status === "bad" ? !BAD.has(text("status", i)) : status !== "*" && text("status", i) !== status) continue;
      if (words.length) {
        const line = ["id", "status", "grade", "worst", "message"].map((n) => text(n, i)).join(" ").toLowerCase();
        if (!words.every((word) => line.includes(word))) continue;
      }
      found.push(i);
    }
    return found;
  };

  const row = (i) => {
    const made = document.createElement("tr");
    const cell = (name, ...parts) => {
      const td = document.createElement("td");
      td.dataset.name = name;
      td.append(...parts.filter((part) => part !== ""));
      made.append(td);
    };
    const status = text("status", i), grade = text("grade", i);
    cell("", make("code", text("id", i)), columns.count[i] > 1 ? ` × ${columns.count[i]}` : "");
    cell("", make("span", status, "mark " + status));
    cell("grade", grade ? make("span", grade, "mark " + grade) : "");
    cell("error", text("error", i));
    cell("worst input", text("worst", i) ? make("code", text("worst", i)) : "");
    cell("", text("message", i) ? make("pre", text("message", i)) : "");
    return made;
  };

  const draw = () => {
    const found = wanted();
    find("rows").tBodies[0].replaceChildren(...found.slice(0, shown).map(row));
    find("found").textContent = `${found.length} of ${total}` + (found.length > shown ? `, the first ${shown} are shown` : "");
    find("more").hidden = found.length <= shown;
  };

  // #op=NAME&dtype=NAME is the page of an op: links in the tables lead there, and it can be sent.
  const follow = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (!["op", "dtype", "check", "status"].some((name) => asked.has(name))) return false;
    for (const name of ["op", "dtype", "check", "status"]) {
      find(name).value = asked.get(name) ?? "*";
      if (find(name).selectedIndex < 0) find(name).value = "*";
    }
    find("words").value = "";
    shown = PAGE;
    draw();
    find("records").scrollIntoView();
    return true;
  };

  for (const name of ["op", "dtype", "check", "status"]) options(name, name);
  find("records").hidden = false;
  find("filter").addEventListener("input", () => { shown = PAGE; draw(); });
  find("filter").addEventListener("submit", (event) => event.preventDefault());
  find("more").addEventListener("click", () => { shown += PAGE; draw(); });
  addEventListener("hashchange", follow);
  if (!follow()) draw();
})();
