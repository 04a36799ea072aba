/**
 * `npm run images`: builds Standin's images with this machine's Docker and prints their names and sizes. `npm run images -- --save
 * DIR` also writes each image to a file, for `docker load`, `ctr image import` or `kind load image-archive`.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { dockerOrThrow } from './docker.ts';
import { startDockerEngine } from './docker-engine.ts';
import { MissingToolError } from './go-program.ts';
import { buildImages } from './images.ts';

const USAGE = `Usage: npm run images -- [--save DIR]

Builds Standin's images with this machine's Docker, and prints their names and sizes.

  --save DIR  also write each image to a file in this folder`;

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: { save: { type: 'string' }, help: { type: 'boolean', short: 'h', default: false } },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const docker = await startDockerEngine(console.log);
  try {
    const images = await buildImages(console.log);
    for (const image of [images.standin, images.engine]) {
      const bytes = Number(await dockerOrThrow(['image', 'inspect', '--format', '{{.Size}}', image]));
      console.log(`${image}  ${Math.round(bytes / 1e6)} MB`);
      if (values.save === undefined) continue;
      const file = path.join(values.save, `${image.replace(':', '-')}.tar`);
      await mkdir(values.save, { recursive: true });
      await images.save(image, file);
      console.log(`  in ${file}`);
    }
    if (docker.isOwn && values.save === undefined)
      console.log(
        "The images are in the tests' own Docker engine, which stops now. Use --save DIR to write them to files.",
      );
  } finally {
    await docker.stop();
  }
};

main().catch((error: unknown) => {
  console.error(error instanceof MissingToolError ? error.message : error);
  process.exitCode = 1;
});
