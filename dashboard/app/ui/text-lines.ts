/** Converts line breaks to LF, because browsers always submit text areas with CRLF. */
export const lineFeeds = (text: string): string => text.replaceAll(/\r\n?/g, '\n');
