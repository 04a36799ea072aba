export interface SparklineProps {
  /** The values, oldest first. */
  readonly values: readonly number[];
  /** The text for screen readers. */
  readonly label: string;
}

const BAR = 3;
const GAP = 1;
const HEIGHT = 20;
const BAR_MIN = 1;

/** Draws a bar of equal width for each value. A zero is a line at the bottom. */
export const Sparkline = ({ values, label }: SparklineProps) => {
  const highest = Math.max(1, ...values);
  const width = values.length * (BAR + GAP) - GAP;
  return (
    <svg
      role="img"
      aria-label={label}
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      className="shrink-0"
    >
      {values.map((value, index) => {
        const height = value === 0 ? BAR_MIN : Math.max(2, Math.round((value / highest) * HEIGHT));
        return (
          <rect
            key={index}
            x={index * (BAR + GAP)}
            y={HEIGHT - height}
            width={BAR}
            height={height}
            className={value === 0 ? 'fill-line' : 'fill-accent'}
          />
        );
      })}
    </svg>
  );
};
