/** The parts of an entry, stored or still being written, each as an element that is told of changes. */

import type { EntryPart } from "../core/index.js";
import { webAddress } from "./address.js";
import type { Decide } from "./approval.js";
import { growing, make, readable } from "./dom.js";
import { toolCard } from "./tool-card.js";

export interface ShownPart {
  readonly node: HTMLElement;
  /** Parts of one type come to the same element, over and over. */
  readonly show: (part: EntryPart, isWritten: boolean) => void;
}

/** Return an element for parts of a type; `decide` answers calls that wait. */
export function shownPart(type: EntryPart["type"], decide: Decide): ShownPart {
  switch (type) {
    case "text":
      return written("text");
    case "thinking":
      return thinking();
    case "draft":
      return preparedCall();
    case "call":
      return call(decide);
    case "file":
      return file();
    default:
      return data();
  }
}

function written(part: string): ShownPart {
  const { node, show } = growing(make(part === "text" ? "p" : "pre", { part }));
  return { node, show: (one) => show("text" in one ? one.text : "") };
}

function thinking(): ShownPart {
  const said = written("text");
  const summary = make("summary", {});
  const node = make("details", { part: "thinking" }, summary, said.node);
  return {
    node,
    show(part, isWritten) {
      // It closes when it is done; whoever opens it again has it open.
      if (isWritten || summary.textContent !== "Thought") node.open = isWritten;
      summary.textContent = isWritten ? "Thinking" : "Thought";
      said.show(part, isWritten);
    },
  };
}

/** The arguments of a call as the model writes them. */
function preparedCall(): ShownPart {
  const { node, show } = written("arguments");
  const title = make("p", { part: "tool-header" }, "Preparing a tool call");
  return { node: make("div", { part: "tool" }, title, node), show };
}

function call(decide: Decide): ShownPart {
  const { node, show } = toolCard(decide);
  return { node, show: (part) => "state" in part && show(part) };
}

function file(): ShownPart {
  const node = make("p", { part: "file" });
  return {
    node,
    show(part) {
      if (!("url" in part)) return;
      const { url, mediaType, name: label = mediaType } = part;
      const href = webAddress(url);
      if (!href) node.textContent = label;
      else if (mediaType.startsWith("image/")) {
        const attributes = { part: "image", alt: label, referrerpolicy: "no-referrer" };
        node.replaceChildren(make("img", { src: href, ...attributes }));
      } else {
        node.replaceChildren(make("a", { href, target: "_blank", rel: "noreferrer" }, label));
      }
    },
  };
}

/** Values of the application's own, and a result whose call is on an earlier page. */
function data(): ShownPart {
  const node = make("pre", { part: "data" });
  return {
    node,
    show(part) {
      if (!("name" in part)) return;
      const value = "value" in part ? part.value : "output" in part && part.output;
      node.textContent = `${part.name}: ${readable(value)}`;
    },
  };
}
