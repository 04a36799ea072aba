/** Returns the anchor of a heading, as GitHub derives it from the heading's text. */
export const headingSlug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
