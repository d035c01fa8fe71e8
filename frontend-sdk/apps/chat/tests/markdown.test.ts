import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Markdown } from "../src/markdown.js";

function html(text: string): string {
  const whole = renderToStaticMarkup(createElement(Markdown, { text }));
  return whole.replace(/^<div class="markdown">|<\/div>$/g, "");
}

describe("markdown", () => {
  it.each([
    ["a paragraph", "one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"],
    [
      "emphasis and code",
      "**a** *b* `c*d*`",
      "<p><strong>a</strong> <em>b</em> <code>c*d*</code></p>",
    ],
    ["a heading", "## Title", "<h4>Title</h4>"],
    ["lists", "- a\n- b\n1. c", "<ul><li>a</li><li>b</li></ul><ol><li>c</li></ol>"],
    ["a quote", "> said", "<blockquote>said</blockquote>"],
    [
      "code",
      "```py\nx = 1\n```\nafter",
      '<pre data-language="py"><code>x = 1</code></pre><p>after</p>',
    ],
    ["code that is still open", "```\nx = 1", "<pre><code>x = 1</code></pre>"],
    ["emphasis that is still open", "so **bo", "<p>so **bo</p>"],
    ["arithmetic", "2 * 3 * 4", "<p>2 * 3 * 4</p>"],
    ["nothing", "", ""],
  ])("draws %s", (_name, text, expected) => {
    expect(html(text)).toBe(expected);
  });

  it("links addresses, without the full stop after them", () => {
    expect(html("see https://example.com/a.")).toContain('href="https://example.com/a"');
    expect(html("[here](https://example.com)")).toContain(">here</a>");
  });

  it.each(["[", "`", "*", "**a ", "[a](", "http://."])(
    "takes no longer for what never closes: %s",
    (open) => {
      const begun = performance.now();
      html(open.repeat(80_000));
      expect(performance.now() - begun).toBeLessThan(5_000);
    },
  );

  it("writes HTML and script addresses as they were typed", () => {
    expect(html("<img src=x onerror=alert(1)>")).toBe("<p>&lt;img src=x onerror=alert(1)&gt;</p>");
    expect(html("[x](javascript:alert(1))")).toBe("<p>[x](javascript:alert(1))</p>");
  });
});
