/** Returns how many are expected: `none`, `exactly 1`, `at least 2`, `at most 3`, `1 to 3`. Without a maximum, `max` is undefined or Infinity. */
export const countRangeText = ({
  min = 0,
  max = Infinity,
}: {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}): string => {
  const [least, most] = [min.toLocaleString('en'), max.toLocaleString('en')];
  if (max === Infinity) return `at least ${least}`;
  if (max === 0) return 'none';
  if (min === max) return `exactly ${most}`;
  return min === 0 ? `at most ${most}` : `${least} to ${most}`;
};
