import { classNames } from './class-names.ts';
import { FieldErrors } from './field.tsx';

export interface RadioCardsProps {
  readonly legend: string;
  readonly name: string;
  readonly choices: readonly { readonly value: string; readonly label: string; readonly hint: string }[];
  readonly defaultValue: string;
  readonly errors?: readonly string[];
  /** The number of columns on a wide enough screen. */
  readonly columns?: 2 | 3;
}

/** A choice between a few options, each with an explanation. */
export const RadioCards = ({ legend, name, choices, defaultValue, errors = [], columns = 2 }: RadioCardsProps) => (
  <fieldset className="flex flex-col gap-1">
    <legend className="mb-1 font-medium">{legend}</legend>
    <div className={classNames('grid gap-2 sm:grid-cols-2', columns === 3 && 'lg:grid-cols-3')}>
      {choices.map(({ value, label, hint }) => (
        <label
          key={value}
          className="flex gap-2 rounded border border-line px-3 py-2 hover:bg-hover has-checked:border-accent has-checked:bg-selected has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus"
        >
          <input
            type="radio"
            name={name}
            value={value}
            defaultChecked={value === defaultValue}
            className="mt-0.5 size-4 shrink-0 accent-accent outline-none"
          />
          <span>
            <span className="font-medium">{label}</span>
            <span className="block text-small text-muted">{hint}</span>
          </span>
        </label>
      ))}
    </div>
    <FieldErrors errors={errors} />
  </fieldset>
);
