import type { Browser, Page } from 'playwright-core';
import { runCommand } from '../cluster/run-command.ts';
import { animatedPng, type Frame } from '../harness/apng.ts';
import { openPage } from '../harness/browser.ts';
import { goto, SHOP, type DashboardRun } from './dashboard-stand.ts';
import { readLog } from './dev-stand.ts';
import { settled } from './expect-accessible.ts';

const PAGE = { width: 1120, height: 600 };
const TERMINAL_HEIGHT = 132;
const TERMINAL_LINES = 5;
const CAPTION_HEIGHT = 40;

const escaped = (text: string): string => text.replace(/[&<>]/g, (character) => `&#${character.codePointAt(0) ?? 0};`);

/** A page of the dashboard, with a caption above and a terminal below. */
class Scene {
  readonly frames: Frame[] = [];
  readonly #page: Page;
  readonly #canvas: Page;
  #caption = '';
  #lines: string[] = [];

  /** @param canvas the page on which the frames are composed */
  constructor(page: Page, canvas: Page) {
    this.#page = page;
    this.#canvas = canvas;
  }

  caption(text: string): void {
    this.#caption = text;
  }

  /** Adds the current state as a frame. */
  async show(ms: number): Promise<void> {
    const picture = (await this.#page.screenshot()).toString('base64');
    await this.#canvas.setContent(`<style>
      body { margin: 0; background: #10141c; font: 600 18px/${CAPTION_HEIGHT}px system-ui, sans-serif; color: #fff; text-align: center }
      img { display: block }
      pre { margin: 0; padding: 10px 16px; color: #d5dbe6; font: 15px/22px monospace; text-align: left; white-space: pre-wrap }
    </style>${escaped(this.#caption)}<img src="data:image/png;base64,${picture}"><pre>${this.#lines.map(escaped).join('\n')}</pre>`);
    this.frames.push({ png: await this.#canvas.screenshot(), ms });
  }

  /** Shows how a command is typed, runs it in a shell, and shows its output. */
  async run(command: string, env: NodeJS.ProcessEnv): Promise<void> {
    this.#lines = this.#lines.slice(-TERMINAL_LINES + 3);
    const before = this.#lines;
    for (const share of [0.3, 0.65, 1]) {
      this.#lines = [...before, `$ ${command.slice(0, command.length * share)}`];
      await this.show(share === 1 ? 500 : 250);
    }
    const { code, stdout, stderr } = await runCommand('sh', ['-c', command], { env: { ...process.env, ...env } });
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}`);
    this.#lines = [...this.#lines, stdout.trim()];
  }
}

export const newest = async (run: DashboardRun, search: string): Promise<string> => {
  const [entry] = await readLog(run.data, '--filter', search, '--limit', '1');
  if (entry === undefined) throw new Error(`no request matches ${search}`);
  return entry.id;
};

/** Records the tour that README.md shows, as an animated PNG. The endpoint `payments` must forward to an upstream. */
export const recordTour = async (browser: Browser, run: DashboardRun): Promise<Buffer> => {
  const { page, context } = await openPage(browser, { colorScheme: 'light', viewport: PAGE });
  const height = CAPTION_HEIGHT + PAGE.height + TERMINAL_HEIGHT;
  const canvas = await openPage(browser, { viewport: { ...PAGE, height } });
  const scene = new Scene(page, canvas.page);
  const command = `curl -s -H "x-api-key: $KEY" $URL/v1/payments -d '{"order": 1001, "total": 21.00}'`;
  const send = (): Promise<void> => scene.run(command, { KEY: run.apiKey, URL: run.url });
  try {
    await goto(page, `${run.dashboard}${SHOP}/traffic`);
    scene.caption('1. Call an endpoint. It forwards to the real service.');
    await send();
    await scene.show(1_000);
    scene.caption('2. The request is in Traffic, byte for byte.');
    const row = page.locator('[data-traffic-row]').first();
    await row.getByText('/v1/payments').waitFor();
    await scene.show(1_000);
    await row.click();
    await page.getByRole('link', { name: 'Save as mock' }).waitFor();
    await settled(page);
    await scene.show(1_800);
    scene.caption('3. Save the response as a mock.');
    await page.getByRole('link', { name: 'Save as mock' }).click();
    await page.getByRole('button', { name: 'Save as mock' }).waitFor();
    await settled(page);
    await scene.show(1_800);
    await page.getByRole('button', { name: 'Save as mock' }).click();
    await page.waitForURL(`**${SHOP}/endpoints/payments`);
    await settled(page);
    await scene.show(900);
    scene.caption('4. The mock answers, without the real service.');
    await send();
    await scene.show(1_400);
    scene.caption('5. Replay the request to the real service, and compare.');
    await goto(page, `${run.dashboard}${SHOP}/traffic/${await newest(run, 'path:/v1/payments')}/replay`);
    await page.getByLabel('Original upstream').check();
    await scene.show(1_200);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('heading', { name: 'Differences' }).waitFor();
    await settled(page);
    await scene.show(900);
    // Shows the comparison of the bodies.
    await page.mouse.wheel(0, PAGE.height);
    await settled(page);
    await scene.show(2_600);
  } finally {
    await Promise.all([context.close(), canvas.context.close()]);
  }
  return animatedPng(scene.frames);
};
