/** Finds the few accounts that administer the instance: a change of one of them asks how many are left. */
export const INSTANCE_ADMINS = {
	name: "0014-instance-admins",
	sql: "CREATE INDEX account_instance_admin ON account (instance_admin) WHERE instance_admin = 1;",
};
