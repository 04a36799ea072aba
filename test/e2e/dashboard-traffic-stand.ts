import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { goto, watched, type DashboardRun } from './dashboard-stand.ts';
import { newFolders, startDev } from './dev-stand.ts';

/** A project without endpoints, and a project with an endpoint but without requests. */
const OTHERS = `apiVersion: standin.dev/v1alpha1
kind: Project
metadata: {name: bare}
spec: {accountRef: {name: default}}
---
apiVersion: standin.dev/v1alpha1
kind: Project
metadata: {name: fresh}
spec: {accountRef: {name: default}}
---
apiVersion: standin.dev/v1alpha1
kind: Endpoint
metadata: {name: hello}
spec: {projectRef: {name: fresh}, displayName: Hello, slug: /hello, method: GET, action: JSON, json: {body: '{}'}}
`;

/** Starts `standin dev` with the quickstart and the projects above. */
export const startTrafficDashboard = async (): Promise<DashboardRun> => {
  const folders = await newFolders();
  await writeFile(path.join(folders.manifests, 'others.yaml'), OTHERS);
  const dev = await startDev({ dashboard: true, folders });
  const { dashboard } = dev.ready;
  if (dashboard === undefined) throw new Error('standin dev has no dashboard');
  return { ...dev, dashboard };
};

/** Opens a page and checks at the end that its console has no errors or warnings except those about failed requests. */
export const usePage = async (browser: Browser, url: string, use: (page: Page) => Promise<void>): Promise<void> => {
  const { page, close, complaints } = await watched(browser);
  await goto(page, url);
  await use(page);
  expect(complaints.filter((complaint) => !complaint.startsWith('Failed to load resource'))).toEqual([]);
  await close();
};

export const rows = (page: Page): Locator => page.locator('[data-traffic-row]');
export const scrollTo = (page: Page, top: number): Promise<void> =>
  page.evaluate(`document.querySelector('[role=grid]').scrollTo({ top: ${top} })`);
/** Returns the live tail's state in the status bar: `live`, `paused`, `reconnecting`, … */
export const tail = (page: Page): Promise<string | null> => page.locator('[data-tail]').getAttribute('data-tail');
export const live = (page: Page): Promise<void> => expect.poll(() => tail(page)).toBe('live');
/** Returns the `n` in the query of each rendered request, from the top. */
export const shown = (page: Page): Promise<number[]> =>
  page.evaluate(
    `[...document.querySelectorAll('[data-traffic-row] [data-field=path]')].map((cell) => Number(/n=(\\d+)/.exec(cell.textContent)?.[1]))`,
  );
export const search = (page: Page): Locator => page.getByRole('combobox', { name: 'Search requests' });
export const params = (page: Page): Record<string, string> => Object.fromEntries(new URL(page.url()).searchParams);

/** Returns the pid of ClickHouse, which is a child process of `standin dev`. */
export const enginePid = async (parent: number): Promise<number> => {
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8');
  for (const child of children.trim().split(/\s+/)) {
    if ((await readFile(`/proc/${child}/cmdline`, 'utf8')).includes('engine/src/main.ts')) return Number(child);
  }
  throw new Error('standin dev runs no engine');
};
