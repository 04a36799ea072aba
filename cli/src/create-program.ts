import { Command } from 'commander';
import packageJson from '../package.json' with { type: 'json' };
import { addAdoptCommand } from './adopt/adopt-command.ts';
import { addCheckCommand, addStatusCommand } from './check/check-command.ts';
import { addDashboardCommand } from './dashboard/dashboard-command.ts';
import { withExamples } from './examples.ts';
import { addExpectCommand } from './expect/expect-command.ts';
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
import { addTestCommand } from './test/test-command.ts';
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
  /** Adds `dev`, which not every program has. */
  readonly addDev?: (program: Command, colour: boolean) => void;
  /** Adds what completes words on the command line. */
  readonly addCompletion: (program: Command) => void;
}

export const createProgram = (options: ProgramOptions): Command => {
  const { name, colour, usesCluster = false, addDev, addCompletion } = options;
  const program = new Command(name)
    .description('HTTP endpoints that stand in for the real thing: mock or forward, and record every accepted request.')
    .version(packageJson.version)
    .configureOutput({ writeOut: stdout.lines, writeErr: stderr.lines })
    .showHelpAfterError(`(${name} --help lists the commands)`)
    .enablePositionalOptions()
    .hook('preAction', (_, command) => chooseCluster(command, usesCluster));
  program.commandsGroup('Capture and read:');
  addDev?.(program, colour);
  addLogCommands(program, colour);
  addExplainCommand(program, colour);
  addRefusedCommand(program);
  addOpenCommand(program);
  program.commandsGroup('Use captured requests:');
  addReplayCommand(program, colour);
  addShareCommand(program);
  addTestCommand(program, colour);
  addExpectCommand(program);
  addPurgeCommand(program);
  program.commandsGroup('Manifests:');
  addValidateCommand(program);
  program.commandsGroup('Accounts:');
  addKeyCommand(program);
  addUsageCommand(program);
  program.commandsGroup('Cluster:');
  addDashboardCommand(program);
  addStatusCommand(program, colour);
  addCheckCommand(program, colour);
  addAdminCommand(program);
  program.commandsGroup('Help:');
  addCompletion(program);
  // The built-in command is created only now, so that it gets the group.
  program.helpCommand(true);
  return withExamples(
    program,
    ['The newest captured requests', 'logs'],
    ['Options and examples of a command', 'replay --help'],
  );
};

/** Adds the commands for administrators, which daily work does not need. */
const addAdminCommand = (program: Command): void => {
  const admin = program
    .command('admin')
    .description('maintain an installation: log tables, volumes of removed gateways, quarantine and identities');
  addMigrateCommand(admin);
  addSpoolCommands(admin);
  addAdoptCommand(admin);
};
