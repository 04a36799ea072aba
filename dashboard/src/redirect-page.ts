import { ownMember } from '@standin/contract';
import type { Response } from 'express';

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => ownMember(ESCAPES, char) ?? char);

/**
 * Returns a page that navigates to a path of the dashboard. After a redirect, the browser would treat the request as part of a
 * navigation that began on another site, and withhold cookies with SameSite=Strict (RFC 6265bis section 5.2). This page starts a
 * new navigation.
 */
export const onwardPage = (path: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Standin</title><meta http-equiv="refresh" content="0; url=${escape(path)}"><p><a href="${escape(path)}">Continue</a></p></html>\n`;

export const sendOnward = (response: Response, path: string): void => {
  response.type('html').send(onwardPage(path));
};
