import { globSync } from 'node:fs';
import { installDebianPackages, missingPackages, type DebianPackage } from '../cluster/debian-packages.ts';
import { goVersion, type Progress } from '../cluster/go-program.ts';

/** The interpreter of Debian's packages. Another `python3` on the PATH does not find them. */
export const PYTHON = '/usr/bin/python3';

const PACKAGES: readonly DebianPackage[] = [
  ['python3-requests', ['/usr/lib/python3/dist-packages/requests/__init__.py']],
  ['python3-pytest', ['/usr/lib/python3/dist-packages/pytest/__init__.py']],
  ['default-jdk-headless', ['/usr/bin/javac']],
  ['junit5', ['/usr/share/java/junit-platform-console.jar']],
];

/** Returns the class path of JUnit 5 and its launcher. */
export const junitClassPath = (): string =>
  globSync('/usr/share/java/{junit-{platform,jupiter}-*,apiguardian-api,opentest4j,picocli}.jar').join(':');

/**
 * Checks for Go, and installs the Debian packages that tests in Python and Java need. Throws MissingToolError with instructions if
 * something is missing.
 */
export const prepareLanguages = async (report: Progress): Promise<void> => {
  await goVersion();
  const missing = missingPackages(PACKAGES);
  if (missing.length > 0) await installDebianPackages(missing, report);
};
