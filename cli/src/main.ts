import process from 'node:process';
import { Command } from 'commander';
import { addDevCommand } from './dev/dev-command.ts';
import { wantsColour } from './logs/format-entry.ts';
import { addLogCommands } from './logs/log-commands.ts';
import packageJson from '../package.json' with { type: 'json' };
import { addMigrateCommand } from './migrate/migrate-command.ts';
import { plainErrorOf } from './plain-error.ts';
import { addKeyCommand } from './keys/key-command.ts';
import { addSpoolCommands } from './spool/spool-commands.ts';
import { addReplayCommand } from './replay/replay-command.ts';
import { addShareCommand } from './share/share-command.ts';
import { addUsageCommand } from './usage/usage-command.ts';
import { addValidateCommand } from './validate/validate-command.ts';

const program = new Command('standin')
  .description('HTTP endpoints that stand in for the real thing: mock or forward, and remember every request.')
  .version(packageJson.version)
  .showHelpAfterError('(standin --help lists the commands)')
  .enablePositionalOptions();

const colour = wantsColour(process.stdout, process.env);
addDevCommand(program, colour);
addLogCommands(program, colour);
addReplayCommand(program, colour);
addShareCommand(program);
addKeyCommand(program);
addUsageCommand(program);
addValidateCommand(program);
addSpoolCommands(program);
addMigrateCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  const plain = plainErrorOf(error);
  if (plain === undefined) throw error;
  console.error(`standin: ${plain.message}`);
  process.exitCode = plain.exitCode;
}
