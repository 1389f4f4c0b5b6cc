package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// An InvoiceSpec is what a user asks for.
type InvoiceSpec struct {
	// Amount is the sum to pay, in the smallest unit of the currency.
	// +kubebuilder:validation:Minimum=1
	Amount int64 `json:"amount"`

	// Currency is the code of the currency, such as EUR.
	// +kubebuilder:validation:Pattern=`^[A-Z]{3}$`
	Currency string `json:"currency"`

	// Paid reports that the amount was received.
	// +optional
	Paid bool `json:"paid,omitempty"`
}

// A Phase says how far an invoice has come.
// +kubebuilder:validation:Enum=Open;Overdue;Paid
type Phase string

// The phases of an invoice.
const (
	Open    Phase = "Open"
	Overdue Phase = "Overdue"
	Paid    Phase = "Paid"
)

// An InvoiceStatus is what the controller has found.
type InvoiceStatus struct {
	// Phase is the phase of the invoice.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// ObservedGeneration is the generation of the spec that the phase is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Amount,type=integer,JSONPath=.spec.amount
// +kubebuilder:printcolumn:name=Currency,type=string,JSONPath=.spec.currency
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=.status.phase

// An Invoice asks a customer for money.
type Invoice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user asks for.
	Spec InvoiceSpec `json:"spec"`

	// Status is what the controller has found.
	// +optional
	Status InvoiceStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// An InvoiceList is a list of invoices.
type InvoiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the invoices.
	Items []Invoice `json:"items"`
}
