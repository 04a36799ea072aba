import { mkdir, rm } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { goto, startDashboard, watched, type DashboardRun } from './dashboard-stand.ts';
import { newFolders } from './dev-stand.ts';

let run: DashboardRun;
let browser: Browser;

beforeEach(async () => {
  const folders = await newFolders();
  await rm(folders.manifests, { recursive: true });
  await mkdir(folders.manifests);
  [run, browser] = await Promise.all([startDashboard({ folders }), startBrowser()]);
});
afterEach(async () => {
  await Promise.all([browser.close(), run.process.kill()]);
});

// A first-time user must see a request within a minute, and type nothing but one name.
test('an empty directory shows its first request after seven clicks', { timeout: 60_000 }, async () => {
  const { page, complaints, close } = await watched(browser);
  const clickButton = (name: string): Promise<void> => page.getByRole('button', { name }).click();
  await goto(page, `${run.dashboard}/`);
  await page.getByRole('link', { name: 'Create project' }).click();
  await clickButton('Create default account');
  await page.getByLabel('Name', { exact: true }).fill('Shop');
  await clickButton('Create project');
  await page.getByRole('link', { name: 'Create endpoint' }).click();
  await clickButton('Create endpoint');
  await page.waitForURL(`${run.dashboard}/p/default/shop/endpoints/hello`);
  await page.getByRole('link', { name: 'Traffic' }).click();
  await clickButton('Send a GET request');
  await page.getByRole('gridcell', { name: '/hello' }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});
