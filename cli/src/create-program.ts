import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addAdoptCommand } from './adopt/adopt-command.ts';
import { addCheckCommand, addStatusCommand } from './check/check-command.ts';
import { addDashboardCommand } from './dashboard/dashboard-command.ts';
import { withExamples } from './examples.ts';
import { addExplainCommand } from './explain/explain-command.ts';
import { addKeyCommand } from './keys/key-command.ts';
import { addLogCommands } from './logs/log-commands.ts';
import { addMigrateCommand } from './migrate/migrate-command.ts';
import { addOpenCommand } from './open/open-command.ts';
import { addPurgeCommand } from './purge/purge-command.ts';
import { addRefusedCommand } from './refused/refused-command.ts';
import { addReplayCommand } from './replay/replay-command.ts';
import { chooseCluster } from './server/choose-cluster.ts';
import { addShareCommand } from './share/share-command.ts';
import { addSpoolCommands } from './spool/spool-commands.ts';
import { addUsageCommand } from './usage/usage-command.ts';
import { addValidateCommand } from './validate/validate-command.ts';
import { stderr, stdout } from './terminal.ts';

export interface ProgramOptions {
  /** The program's name, as users type it. */
  readonly name: string;
  /** Whether the output may contain colors. */
  readonly colour: boolean;
  /** Whether commands use the cluster of the current kubeconfig unless an option names another source. */
  readonly usesCluster?: boolean;
  /** Adds commands that only this program has. */
  readonly addMore?: (program: Command, colour: boolean) => void;
}

/** Returns the command line with all its commands. */
export const createProgram = ({ name, colour, usesCluster = false, addMore }: ProgramOptions): Command => {
  const program = new Command(name)
    .description('HTTP endpoints that stand in for the real thing: mock or forward, and record every request.')
    .version(packageJson.version)
    .configureOutput({ writeOut: stdout.lines, writeErr: stderr.lines })
    .showHelpAfterError(`(${name} --help lists the commands)`)
    .enablePositionalOptions()
    .hook('preAction', (_, command) => chooseCluster(command, usesCluster));
  addMore?.(program, colour);
  addLogCommands(program, colour);
  addExplainCommand(program, colour);
  addRefusedCommand(program);
  addReplayCommand(program, colour);
  addPurgeCommand(program);
  addShareCommand(program);
  addOpenCommand(program);
  addDashboardCommand(program);
  addKeyCommand(program);
  addUsageCommand(program);
  addValidateCommand(program);
  addSpoolCommands(program);
  addCheckCommand(program, colour);
  addStatusCommand(program, colour);
  addMigrateCommand(program);
  addAdoptCommand(program);
  return withExamples(
    program,
    ['The newest captured requests', 'logs'],
    ['Options and examples of a command', 'replay --help'],
  );
};
