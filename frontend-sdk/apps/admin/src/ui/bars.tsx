/** A small chart of bars. */

import type { ReactNode } from "react";
import type { Bar } from "./bar.js";

const WIDTH = 240;
const HEIGHT = 56;

interface BarsProps {
  readonly bars: readonly Bar[];
  readonly caption: string;
  readonly total: string;
  /** All of it in a sentence, for whoever does not see it. */
  readonly words: string;
  /** What one bar says. */
  readonly wordsOf: (bar: Bar) => string;
  /** Under its left, its middle and its right. */
  readonly axis: readonly [string, string, string];
  readonly testId: string;
  readonly colour?: string;
}

export function Bars(props: BarsProps): ReactNode {
  const { bars, caption, total, words, wordsOf, axis, testId, colour } = props;
  const step = WIDTH / bars.length;
  const gap = Math.min(1, step / 4);
  return (
    <figure className="chart" data-testid={testId}>
      <figcaption>
        {caption} <b>{total}</b>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={words} className={colour}>
        <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
        {bars.map(
          (bar, index) =>
            bar.value > 0 && (
              <rect
                key={bar.at}
                x={index * step + gap / 2}
                width={step - gap}
                y={HEIGHT - 1 - tall(bar)}
                height={tall(bar)}
                rx="1"
              >
                <title>{wordsOf(bar)}</title>
              </rect>
            ),
        )}
      </svg>
      <p className="axis soft">
        {axis.map((word, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: three places, not three words.
          <span key={index}>{word}</span>
        ))}
      </p>
    </figure>
  );
}

function tall({ height }: Bar): number {
  return Math.max(2, height * (HEIGHT - 4));
}
