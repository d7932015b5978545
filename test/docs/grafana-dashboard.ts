import type { Dashboard, Panel } from "@grafana/schema";
import type { Options as StatOptions } from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type {
	FieldConfig as LineStyle,
	Options as TimeseriesOptions,
} from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

/** A type of Grafana's as JSON spells it: the text in place of each enum, and options may be left out. */
type Json<Type> = Type extends string
	? `${Type}`
	: Type extends readonly (infer Item)[]
		? Json<Item>[]
		: Type extends object
			? { [Name in keyof Type]: Json<Type[Name]> }
			: Type;

type Defaults = NonNullable<Panel["fieldConfig"]>["defaults"];

/** A panel of one kind, with what its plug-in knows. */
type PanelOf<Kind extends string, Options, Custom> = Omit<Json<Panel>, "type" | "options" | "fieldConfig"> & {
	type: Kind;
	options?: Json<Partial<Options>>;
	fieldConfig: {
		defaults: Omit<Json<Defaults>, "custom"> & { custom?: Json<Partial<Custom>> };
		overrides: [];
	};
};

/** The dashboard as Grafana's own schema describes it, with the two kinds of panels that ours has. */
export type GrafanaDashboard = Omit<Json<Dashboard>, "panels"> & {
	panels: (PanelOf<"stat", StatOptions, never> | PanelOf<"timeseries", TimeseriesOptions, LineStyle>)[];
};
